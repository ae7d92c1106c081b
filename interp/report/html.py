"""Templates to pages that open with the network off."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from interp.report import explorer
from interp.report.spelling import visible


def rendered(template: str, **context: Any) -> bytes:
    """A page of a template; every value is escaped, and what is undefined is an error."""
    pages = Environment(
        loader=PackageLoader("interp", "report"),
        autoescape=True,
        finalize=_printed,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.globals.update(asset=explorer.asset, script=explorer.script)
    return pages.get_template(template).render(context).encode()


def _printed(value: Any) -> Any:
    """Text with every character visible, and no line broken between a number and its "%"."""
    if isinstance(value, Markup):
        return value
    return visible(str(value)).replace(" %", "\N{NO-BREAK SPACE}%")
