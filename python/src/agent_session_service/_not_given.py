"""The mark of an argument that was not given: its field is not sent, unlike None, which is sent as null."""

from collections.abc import Mapping
from typing import Any, Final


class NotGiven:
    """The type of `NOT_GIVEN`."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = NotGiven()


def only_given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given."""
    return {name: value for name, value in fields.items() if not isinstance(value, NotGiven)}
