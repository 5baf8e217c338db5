# SPDX-License-Identifier: Apache-2.0
"""13.4: what our SBOM must be, by the specification of SPDX 2.3 (clauses 6 on documents, 7 on packages, 11 on relationships) and by what a
reader of it wants to know. SPDX's own reader asks more of it, where that is to be had (tools/packages)."""
import re

from .gate import check, equal

LIBRARIES = ("libssl", "libcurl", "libsqlite3", "libcjson", "libpcre2", "libyaml", "libutf8proc", "libpg-query", "libpq", "libcjose", "llhttp", "confusable")
RELATIONS = {"DESCRIBES", "DYNAMIC_LINK", "STATIC_LINK", "GENERATED_FROM"}


def keeps_to_spdx(paper):
    equal((paper["spdxVersion"], paper["dataLicense"], paper["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"), "it is a document of SPDX 2.3")
    check(re.fullmatch(r"[a-z]+:[^#\s]+", paper["documentNamespace"]), "its namespace is a URI without a fragment")
    made = paper["creationInfo"]
    check(re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z", made["created"]), f"its time is written as asked: {made['created']}")
    check(made["creators"] and all(re.match(r"(Person|Organization|Tool): ?\S", name) for name in made["creators"]), "it says who made it")
    ids = [package["SPDXID"] for package in paper["packages"]]
    check(all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in ids), "each package has a name that others can refer to")
    equal(len(set(ids)), len(ids), "of its own")
    for package in paper["packages"]:
        check(package["name"] and package["versionInfo"] and package["downloadLocation"], f"{package['SPDXID']} has name, version and origin")
        check(not package["filesAnalyzed"] and "packageVerificationCode" not in package, "and promises nothing of files that nobody looked into")
    for package in paper["packages"][1:]:
        [reference] = package["externalRefs"]
        check(re.match(r"(Person|Organization): \S", package["supplier"]), f"{package['name']} has a supplier")
        equal((reference["referenceCategory"], reference["referenceType"]), ("PACKAGE-MANAGER", "purl"), f"{package['name']} is found by its purl")
        check(re.fullmatch(r"pkg:deb/(debian|ubuntu)/[a-z0-9.%-]+@\S+\?arch=\w+&distro=[\w.-]+", reference["referenceLocator"]), reference["referenceLocator"])
    ends = {relation[end] for relation in paper["relationships"] for end in ("spdxElementId", "relatedSpdxElement")}
    equal(ends - {"SPDXRef-DOCUMENT"}, set(ids), "each package has its place, and each place its package")
    equal({relation["relationshipType"] for relation in paper["relationships"]} - RELATIONS, set(), "by relations that SPDX knows")
    equal([relation["relatedSpdxElement"] for relation in paper["relationships"] if relation["relationshipType"] == "DESCRIBES"], ids[:1], "it describes us")
    linked = " ".join(package["name"] for package in paper["packages"])
    for library in LIBRARIES:
        check(library in linked, f"{library} is among them")
