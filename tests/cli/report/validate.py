# SPDX-License-Identifier: MIT
"""Checks JSON files against a JSON Schema, as far as our schema goes: SCHEMA FILE... An unknown keyword is an error, so that none is ignored.

With python3-jsonschema installed (make check-all) that library is asked too, and must agree."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "title", "description", "$defs", "type", "required", "properties", "items", "enum", "const", "pattern", "minimum", "$ref",
         "oneOf", "allOf", "additionalProperties", "minItems", "maxItems"}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def check(value, schema, root, where):
    """Yields what is wrong."""
    unknown = set(schema) - KNOWN
    if unknown:
        yield f"{where}: keywords {unknown} are not checked"
    undefined = set(schema.get("required", [])) - set(schema.get("properties", {}))
    if undefined:
        yield f"{where}: {undefined} are required, but not described"
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from check(value, target, root, where)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, t) for t in types):
        yield f"{where}: {value!r:.60} is no {types}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r:.60} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r:.60} is not in {schema['enum']}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{where}: {value!r:.60} is not like {schema['pattern']}"
    if is_type(value, "integer") and value < schema.get("minimum", value):
        yield f"{where}: {value} is too small"
    for s in schema.get("allOf", []):
        yield from check(value, s, root, where)
    if "oneOf" in schema and sum(not list(check(value, s, root, where)) for s in schema["oneOf"]) != 1:
        yield f"{where}: {value!r:.60} is not exactly one of the choices"
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield f"{where}: '{key}' is missing"
        for key, member in value.items():
            if key in schema.get("properties", {}):
                yield from check(member, schema["properties"][key], root, f"{where}/{key}")
            elif schema.get("additionalProperties") is False:
                yield f"{where}: '{key}' is not allowed"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: too few"
        if len(value) > schema.get("maxItems", len(value)):
            yield f"{where}: too many"
        for i, member in enumerate(value):
            yield from check(member, schema.get("items", {}), root, f"{where}/{i}")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
    wrong = 0
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as f:
            report = json.load(f)
        errors = list(check(report, schema, schema, name))
        print(*errors[:10], sep="\n", end="\n" if errors else "")
        wrong += len(errors)
        if jsonschema and bool(errors) != (not jsonschema.validators.validator_for(schema)(schema).is_valid(report)):
            print(f"{name}: jsonschema is of another opinion")
            wrong += 1
    print(f"{len(sys.argv) - 2} files, {wrong} errors, {'with' if jsonschema else 'without'} jsonschema")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
