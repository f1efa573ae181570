"""The objects of the API, one class for each schema of its OpenAPI document."""

from ._generated.models import *  # noqa: F403
from ._generated.models import __all__ as __all__
