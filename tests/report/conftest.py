import pytest

from interp.report import write_report
from interp.store import Run

from .example import example_run, failing_run


@pytest.fixture(scope="session")
def run() -> Run:
    return example_run(6, 12)


@pytest.fixture(scope="session")
def report(run, tmp_path_factory):
    """The folder of a written report."""
    folder = tmp_path_factory.mktemp("report")
    write_report(run, folder)
    return folder


@pytest.fixture(scope="session")
def failing_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failing")
    write_report(failing_run(), folder)
    return folder
