"""Reads the OpenAPI document: its operations, and its schemas as the models need them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

# The service checks what it gets. A client that checks as well would refuse what a newer service allows.
CONSTRAINTS = {
    *("pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "uniqueItems"),
    *("minProperties", "maxProperties", "propertyNames", "examples", "example", "title"),
    *("contentMediaType", "contentSchema", "format"),
}
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    raw: Schema

    @property
    def name(self) -> str:
        return snake_case(self.raw["operationId"])

    @property
    def parameters(self) -> list[Schema]:
        return self.raw.get("parameters", [])

    @property
    def is_list(self) -> bool:
        return any(one["name"] == "cursor" for one in self.parameters)

    @property
    def is_create(self) -> bool:
        return any(one["name"] == "Idempotency-Key" for one in self.parameters)

    @property
    def is_upload(self) -> bool:
        return "multipart/form-data" in self.raw.get("requestBody", {}).get("content", {})

    @property
    def body(self) -> Schema | None:
        return self.raw.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")

    @property
    def success(self) -> Schema:
        return next(answer for status, answer in self.raw["responses"].items() if int(status) < 400)

    @property
    def answer_types(self) -> set[str]:
        return set(self.success.get("content", {}))

    @property
    def answer(self) -> Schema | None:
        return self.success.get("content", {}).get("application/json", {}).get("schema")

    @property
    def is_download(self) -> bool:
        """True if the answer is a file, or leads to one."""
        redirects = any(status.startswith("3") for status in self.raw["responses"])
        return redirects or (
            bool(self.answer_types) and not self.answer_types & {"application/json", "text/event-stream", "text/html"}
        )


class Document:
    def __init__(self, raw: Schema) -> None:
        self.raw = raw
        self.schemas: dict[str, Schema] = raw["components"]["schemas"]
        self.operations = list(self._operations())
        self.answered = self._reachable(self._answer_roots())

    def _operations(self) -> Iterator[Operation]:
        for path, methods in self.raw["paths"].items():
            for method, raw in methods.items():
                # Links open the others in a browser; streams have methods of their own.
                by_hand = {"text/html", "text/event-stream"}
                operation = Operation(method.upper(), path, raw)
                if method in METHODS and path.startswith("/v1/") and not operation.answer_types & by_hand:
                    yield operation

    def _answer_roots(self) -> Iterator[object]:
        for methods in self.raw["paths"].values():
            for raw in methods.values():
                yield raw["responses"]
        yield self.raw.get("webhooks", {})
        yield {"$ref": "#/components/schemas/StreamEvent"}
        yield {"$ref": "#/components/schemas/WebhookPayload"}

    def _reachable(self, roots: Iterator[object]) -> set[str]:
        """The names of the schemas that an answer can contain."""
        names: set[str] = set()
        pending = [name for root in roots for name in refs_in(root)]
        while pending:
            name = pending.pop()
            if name not in names:
                names.add(name)
                pending.extend(refs_in(self.schemas[name]))
        return names

    def resolve(self, schema: Schema) -> Schema:
        return self.schemas[name_of(schema)] if "$ref" in schema else schema

    def is_enum(self, schema: Schema) -> bool:
        return "enum" in schema and schema.get("type") == "string"

    def fields(self, schema: Schema) -> tuple[dict[str, Schema], set[str]]:
        """The properties of a body and the names of those that are required; of a choice, those of all variants."""
        body = self.resolve(schema)
        if "properties" in body:
            return body["properties"], set(body.get("required", []))
        variants = [self.fields(one) for one in [*body.get("oneOf", []), *body.get("anyOf", [])]]
        properties = {name: one for found, _ in variants for name, one in found.items()}
        return properties, set.intersection(*(required for _, required in variants)) if variants else set()


def refs_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str) and value["$ref"].startswith("#/components/schemas/"):
            yield name_of(value)
        for name, one in value.items():
            if name != "discriminator":
                yield from refs_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from refs_in(one)


def name_of(schema: Schema) -> str:
    return schema["$ref"].rsplit("/", 1)[-1]


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def python_name(name: str) -> str:
    """The name of a field as an argument: one that Python keeps gets ``_`` at its end."""
    plain = name.replace("-", "_")
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def singular(name: str) -> str:
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
