"""The local server behind `headscope explore`: texts through models, atlases and predictions, for one's own browser."""

from headscope.server.app import create_app
from headscope.server.catalogue import Catalogue
from headscope.server.serve import hosts_of, link_of, listening, new_token, serve

__all__ = ["Catalogue", "create_app", "hosts_of", "link_of", "listening", "new_token", "serve"]
