# SPDX-License-Identifier: Apache-2.0
"""Validates events of OCSF, a line each on stdin, by the JSON schema of the version that each names. Ends with 1 where one is none."""
import json
import sys

import jsonschema
import ocsf_json_schema

validators, classes, faults = {}, {}, 0
for line in sys.stdin:
    event = json.loads(line)
    key = event["metadata"]["version"], event["class_uid"], tuple(event["metadata"].get("profiles", []))
    if key not in validators:
        schema = ocsf_json_schema.OcsfJsonSchemaEmbedded(ocsf_json_schema.get_ocsf_schema(version=key[0]))
        one = schema.get_class_schema(schema.lookup_class_name_from_uid(key[1]), list(key[2]))
        validators[key] = jsonschema.Draft202012Validator(one, format_checker=jsonschema.FormatChecker())
    classes[key[1]] = classes.get(key[1], 0) + 1
    for fault in validators[key].iter_errors(event):
        faults += 1
        print(f"{key}: {'/'.join(map(str, fault.absolute_path))}: {fault.message[:300]}")
print(classes)
sys.exit(faults > 0)
