"""The base of the models that are made from the OpenAPI document."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict


class ApiObject(BaseModel):
    """An object of the API. Fields that this version does not know are kept: as attributes, and in ``model_extra``."""

    model_config = ConfigDict(extra="allow", populate_by_name=True, protected_namespaces=())


class Unknown(ApiObject):
    """A variant of a newer service. Its fields are attributes."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
