"""Makes one method for each operation of the OpenAPI document."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import dataclass

from .document import Document, Operation, Schema, name_of, python_name, singular

PAGING = ("limit", "cursor")
# The message of ``run`` is the body of this operation, but for the schema, which ``output`` gives.
MESSAGE, OUTPUT_FIELD = "sendMessage", "output_schema"

IMPORTS = '''
# pyright: reportUnusedImport=false
"""The operations of the service: one method each, in the order of its documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from .._json import segment
from .._not_given import NOT_GIVEN, NotGiven, only_given
from .._upload import FileSource
from .._async.download import AsyncDownload
from .._async.pages import AsyncItems
from .._async.transport import AsyncTransport
from . import models


class AsyncOperations:
    """One method for each operation."""

    _transport: AsyncTransport
'''.lstrip()


@dataclass(frozen=True)
class Argument:
    name: str
    wire: str
    type: str
    is_required: bool
    description: str

    @property
    def declaration(self) -> str:
        return f"{self.name}: {self.type}" if self.is_required else f"{self.name}: {self.type} | NotGiven = NOT_GIVEN"


def operations_module(document: Document) -> str:
    return IMPORTS + "".join(method(operation, document) for operation in document.operations)


def method(operation: Operation, document: Document) -> str:
    ids = [python_name(name) for name in re.findall(r"\{(\w+)\}", operation.path)]
    query = [
        Argument(name, one["name"], query_type(one, document), bool(one.get("required")), one.get("description", ""))
        for one in operation.parameters
        if one["in"] == "query" and one["name"] not in PAGING
        for name in [free_name(one["name"], ids)]
    ]
    body: list[Argument] = []
    if operation.body is not None:
        properties, required = document.fields(operation.body)
        taken = [*ids, *(one.name for one in query)]
        body = [
            Argument(free_name(name, taken), name, type_of(one, document), name in required, one.get("description", ""))
            for name, one in properties.items()
        ]
    paging = [
        Argument(one["name"], one["name"], type_of(one["schema"], document), False, one.get("description", ""))
        for one in operation.parameters
        if one["name"] in PAGING
    ]
    path = re.sub(r"\{(\w+)\}", lambda found: f"{{segment({python_name(found[1])})}}", operation.path)
    address = f'f"{path}"' if ids else f'"{path}"'
    named = sorted([*body, *query], key=lambda one: not one.is_required)
    positional = [f"{name}: str" for name in ids]
    if operation.is_upload:
        positional += ["source: FileSource", "filename: str | None = None"]
    keywords = [one.declaration for one in [*named, *paging]]
    sent: list[str] = []
    if query or paging:
        sent.append(f"query={mapping([*query, *paging])}")
    if operation.body is not None:
        sent.append(f"body={mapping(body)}")
    if operation.is_upload:
        sent.append("upload=(source, filename)")
    if operation.raw.get("x-repeatable") is False:
        sent.append("repeatable=False")
    if operation.is_create:
        keywords.append("idempotency_key: str | None = None")
        sent.append("idempotency_key=idempotency_key")
    if operation.is_create and operation.method == "POST":
        sent.append("creates=True")
    arguments = ["self", *positional, *(["*", *keywords] if keywords else [])]
    about = [*named, *paging]
    text = documentation(operation, about)
    if operation.is_download:
        call = ", ".join([address, *sent])
        return f"""
    def {operation.name}({", ".join(arguments)}) -> AsyncDownload:
{text}
        return AsyncDownload(self._transport, {call})
"""
    answer = None if operation.answer is None else f"models.{name_of(operation.answer)}"
    # One argument a line: a traceback shows the first line of a call, not hundreds of characters.
    parts = [f'"{operation.method}"', address, *([answer] if answer else []), *sent]
    call = "".join(f"\n            {part}," for part in parts) + "\n        "
    if answer is None:
        return f"""
    async def {operation.name}({", ".join(arguments)}) -> None:
{text}
        await self._transport.no_content({call})
"""
    own = f"""
    async def {operation.name}({", ".join(arguments)}) -> {answer}:
{text}
        answer: {answer} = await self._transport.json({call})
        return answer
"""
    return own + each(operation, document, positional, ids, [*named, *paging]) if operation.is_list else own


def each(operation: Operation, document: Document, positional: list[str], ids: list[str], named: list[Argument]) -> str:
    assert operation.answer is not None
    items = document.resolve(operation.answer)["properties"]["items"]["items"]
    filters = [one for one in named if one.name not in PAGING]
    passed = ", ".join([*ids, *(f"{one.name}={one.name}" for one in filters), "limit=limit", "cursor=page"])
    arguments = ["self", *positional, "*", *(one.declaration for one in filters), "limit: int = 100", "cursor: str | None = None"]
    return f'''
    def each_{singular(operation.name.removeprefix("list_"))}({", ".join(arguments)}) -> AsyncItems[{type_of_item(items)}]:
        """Every item of `{operation.name}`, over all its pages of `limit` items. `cursor`: that of an earlier iteration."""

        async def load(page: str | NotGiven) -> models.{name_of(operation.answer)}:
            return await self.{operation.name}({passed})

        return AsyncItems(load, cursor)
'''


def fields_module(document: Document) -> str:
    """The fields of a message as keywords."""
    operation = next(one for one in document.operations if one.raw["operationId"] == MESSAGE)
    assert operation.body is not None
    properties, required = document.fields(operation.body)
    lines = [
        f"    {python_name(name)}: {f'Required[{kind}]' if name in required else kind}\n    {json.dumps(one.get('description', ''))}\n"
        for name, one in properties.items()
        if name != OUTPUT_FIELD
        for kind in [type_of(one, document)]
    ]
    return f'''"""The fields of a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import Required, TypedDict

from . import models


class MessageFields(TypedDict, total=False):
    """The fields of a message, as `send_message` takes them."""

{"".join(lines)}'''


def documentation(operation: Operation, arguments: list[Argument]) -> str:
    description = re.sub(r"\n+", "\n\n", operation.raw["description"])
    text = f"{operation.raw['summary']}.\n\n{description}"
    if arguments:
        lines = [f"    {one.name}: {' '.join(one.description.split())}" for one in arguments]
        text += "\n\nArgs:\n" + "\n".join(lines)
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return textwrap.indent(f'"""{escaped}\n"""', " " * 8)


def mapping(arguments: list[Argument]) -> str:
    pairs = ", ".join(f"{json.dumps(one.wire)}: {one.name}" for one in arguments)
    return f"only_given({{{pairs}}})"


def free_name(name: str, taken: list[str]) -> str:
    own = python_name(name)
    return f"{own}_" if own in taken else own


def query_type(parameter: Schema, document: Document) -> str:
    own = type_of(parameter["schema"], document)
    # A list in a query is a text with commas.
    is_list = own == "str" and re.search(r"\bcomma", parameter.get("description", ""))
    return "str | Sequence[str]" if is_list else own


def type_of_item(schema: Schema) -> str:
    return f"models.{name_of(schema)}" if "$ref" in schema else "Any"


def type_of(schema: Schema, document: Document) -> str:
    """The type of an argument: a model, or a mapping with the same fields."""
    if "$ref" in schema:
        target = document.resolve(schema)
        name = f"models.{name_of(schema)}"
        is_text = target.get("type") == "string"
        return name if is_text else f"{name} | Mapping[str, Any]"
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return union([type_of(one, document) for one in schema[choice]])
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    kinds = schema.get("type", [])
    return union([plain_type(kind, schema, document) for kind in ([kinds] if isinstance(kinds, str) else kinds)] or ["Any"])


def plain_type(kind: str, schema: Schema, document: Document) -> str:
    if kind == "array":
        return f"Sequence[{type_of(schema.get('items', {}), document)}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"Mapping[str, {type_of(values, document) if isinstance(values, dict) and values else 'Any'}]"
    if kind == "string":
        return "datetime | str" if schema.get("format") == "date-time" else "str"
    return {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kind]


def union(types: list[str]) -> str:
    parts = [part for one in types for part in split(one)]
    return " | ".join(sorted(dict.fromkeys(parts), key=lambda part: part == "None"))


def split(text: str) -> list[str]:
    """The members of a union; those inside of brackets stay together."""
    return re.findall(r"(?:[^|\[\]\s]|\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]|(?<=[^|]) (?=[^|]))+", text)
