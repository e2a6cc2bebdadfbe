"""All pages of the dashboard."""

from starlette.routing import BaseRoute

from hibernator.web.dashboard.actions import Actions
from hibernator.web.dashboard.api import Api
from hibernator.web.dashboard.audit import Audits
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.exceptions import Exceptions
from hibernator.web.dashboard.live import Live
from hibernator.web.dashboard.new_exception import NewException
from hibernator.web.dashboard.overview import Overviews
from hibernator.web.dashboard.plans import Plans
from hibernator.web.dashboard.remediations import Remediations
from hibernator.web.dashboard.scalers import Scalers
from hibernator.web.site import Site


def dashboard(site: Site) -> list[BaseRoute]:
    board = Board(site)
    pages = (Overviews, Plans, Scalers, Exceptions, Remediations, Audits, Api, Live)
    forms = (*NewException(site).routes(), *Actions(site).routes())
    return [*forms, *(route for page in pages for route in page(board).routes())]
