"""`hibernator web`."""

from hibernator.cli.settings import with_flags
from hibernator.web.settings import SCHEMA, Settings, settings


def _web(chosen: Settings) -> None:
    """Run the web process: log-in, pages, dashboard and messages.

    Every setting can be written as a flag (`--base-url`), as an environment variable
    (`HIBERNATOR_WEB_BASE_URL`) or in a file (`baseUrl`); the later of file, environment and flag wins.
    Secrets are given as files only.
    """
    from hibernator.cli.process import run
    from hibernator.web import app

    run(chosen, lambda credentials: app.web(chosen, credentials), "--listen or --metrics-listen")


web = with_flags(SCHEMA, settings, _web)
