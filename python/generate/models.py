"""Makes one class for each schema with datamodel-code-generator."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .document import CONSTRAINTS, Document, Schema, name_of

BASE = "agent_session_service._base"


def module(document: Document) -> str:
    """The text of the module with all models."""
    schemas, unknown = prepared(document)
    whole = {"openapi": "3.1.0", "info": document.raw["info"], "paths": {}, "components": {"schemas": schemas}}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "openapi.json"), Path(folder, "models.py")
        source.write_text(json.dumps(whole), "utf-8")
        options = {
            "--input": str(source),
            "--input-file-type": "openapi",
            "--output": str(target),
            "--output-model-type": "pydantic_v2.BaseModel",
            "--target-python-version": "3.10",
            "--base-class": f"{BASE}.ApiObject",
            "--base-class-map": json.dumps({name: f"{BASE}.Unknown" for name in unknown}),
            "--enum-field-as-literal": "all",
            "--formatters": "builtin",
            "--output-datetime-class": "datetime",
        }
        flags = [
            *("--use-type-alias", "--use-standard-collections", "--use-union-operator", "--use-annotated"),
            *("--use-schema-description", "--use-field-description", "--use-inline-field-description", "--use-double-quotes"),
            "--disable-timestamp",
        ]
        command = [sys.executable, "-m", "datamodel_code_generator", *(text for pair in options.items() for text in pair), *flags]
        subprocess.run(command, check=True)
        text = target.read_text("utf-8")
    # The known variants first: pydantic's own choice would compare how well each variant fits.
    known = re.compile(r"TypeAliasType\(\s*\"(\w+)\", (Known\w+ \| Unknown\w+)\s*\)")
    text = known.sub(r'TypeAliasType("\1", Annotated[\2, Field(union_mode="left_to_right")])', text)
    names = re.findall(r"^(?:class (\w+)\(|(\w+) = TypeAliasType\()", text, re.MULTILINE)
    exported = sorted(first or second for first, second in names)
    return f"{text}\n__all__ = {json.dumps(exported, indent=4)}\n"


def prepared(document: Document) -> tuple[dict[str, Schema], set[str]]:
    """The schemas for the generator, and the names of the classes for variants that a newer service sends."""
    schemas: dict[str, Schema] = {}
    unknown: set[str] = set()
    tagged = {name for name, schema in document.schemas.items() if is_union(schema)}
    nested = {name_of(variant) for name in tagged for variant in document.schemas[name]["oneOf"] if name_of(variant) in tagged}
    for name, schema in document.schemas.items():
        plain = cleaned(schema, document)
        if document.is_enum(schema) and name in document.answered:
            description = plain.pop("description", None)
            plain.pop("default", None)
            plain = {"anyOf": [plain, {"type": "string"}], **({"description": description} if description else {})}
        elif name in tagged and name in document.answered and name not in nested:
            other = f"Unknown{re.findall('[A-Z][a-z]*', name)[-1]}"
            unknown.add(other)
            text = "A variant that this version of the client does not know. It has the fields that the service sent."
            tag = {schema["discriminator"]["propertyName"]: {"type": "string", "description": "Its kind."}}
            schemas[other] = {"type": "object", "description": text, "properties": tag, "required": list(tag)}
            schemas[f"Known{name}"] = plain
            plain = {
                "description": schema.get("description", ""),
                "anyOf": [{"$ref": f"#/components/schemas/Known{name}"}, {"$ref": f"#/components/schemas/{other}"}],
            }
        schemas[name] = plain
    return schemas, unknown


def is_union(schema: Schema) -> bool:
    return "oneOf" in schema and "discriminator" in schema


def cleaned(schema: Schema, document: Document) -> Schema:
    """The schema without what would refuse an answer of a newer service."""
    result: Schema = {}
    for name, value in schema.items():
        if name == "format":
            if value in ("date-time", "binary"):
                result[name] = value
        elif name in CONSTRAINTS or (name == "additionalProperties" and value is False):
            continue
        elif name == "properties":
            result[name] = {field: cleaned(tag_inline(field, one, document), document) for field, one in value.items()}
        elif name == "required" and is_union(schema):
            continue
        elif isinstance(value, dict) and name in ("items", "additionalProperties"):
            result[name] = cleaned(value, document)
        elif name in ("oneOf", "anyOf", "allOf"):
            result[name] = [cleaned(one, document) for one in value]
        else:
            result[name] = value
    if is_union(schema):
        result.pop("type", None)
    return result


def tag_inline(field: str, schema: Schema, document: Document) -> Schema:
    """A field by which variants are told apart has exactly its values."""
    if field != "type" or "$ref" not in schema:
        return schema
    values = document.resolve(schema)
    return (
        {"type": "string", "enum": values["enum"], "description": schema.get("description", "")} if "enum" in values else schema
    )
