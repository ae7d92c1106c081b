"""The leagues of measures: each against what intervention shows, on items that it has not seen."""

from interp.leagues.of_patterns import leagues_of_patterns
from interp.leagues.of_task import Leagues, leagues

__all__ = ["Leagues", "leagues", "leagues_of_patterns"]
