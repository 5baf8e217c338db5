/* SPDX-License-Identifier: Apache-2.0 */
/* 12.3: what a path is, step by step. */
#include "language/language.h"
#include "policy/rule.h"
#include "policy/snapshot.h"
#include "unit/policy/rows.h"

#define SRV "path: {under: /srv/data}"
#define HERE "path: {under: .}"

/* How a path may be spelled; what readers take in several ways is undecided, wherever it leads. */
static const struct row spelled[] = {
    {SRV, "\"/srv/data/x\"", 'T', 'T'},
    {SRV, "\"/srv/data\"", 'T', 'T'},
    {SRV, "\"/srv/data/\"", 'T', 'T'},
    {SRV, "\"/srv/data/x/\"", 'T', 'T'},
    {SRV, "\"/srv/database\"", 'F', 'F'},
    {SRV, "\"/srv/datax/y\"", 'F', 'F'},
    {SRV, "\"/srv\"", 'F', 'F'},
    {SRV, "\"/\"", 'F', 'F'},
    {SRV, "\"/x/srv/data/y\"", 'F', 'F'},
    {SRV, "\"/srv/data/../data/x\"", 'U', 'U'},
    {SRV, "\"/srv/data/./x\"", 'U', 'U'},
    {SRV, "\"/srv/data/.\"", 'U', 'U'},
    {SRV, "\"/srv//data/x\"", 'U', 'U'},
    {SRV, "\"/srv/data//\"", 'U', 'U'},
    {SRV, "\"//srv/data/x\"", 'U', 'U'},
    {SRV, "\"/srv/data/...\"", 'U', 'U'}, /* it begins with a dot, and `hidden` says nothing */
    {SRV, "\"/srv/data/%61\"", 'U', 'U'},
    {SRV, "\"/srv/data/100%\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\uff0561\"", 'U', 'U'}, /* what NFKC makes a `%` of */
    {SRV, "\"/srv/data\\\\x\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\uff3cx\"", 'U', 'U'},
    {SRV, "\"/srv/data/`id`\"", 'U', 'U'},
    {SRV, "\"/srv/data/x\\n\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\u007f\"", 'U', 'U'},
    {SRV, "\"/srv/data/a\\u0085b\"", 'U', 'U'},
    {SRV, "\"/srv/data/a\\u2028b\"", 'U', 'U'},
    {SRV, "\"/srv/data/a\\u2029b\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\u2025/x\"", 'U', 'U'}, /* two dots in one character */
    {SRV, "\"/srv/data/.\\u200b./x\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\uff0e\\uff0e/x\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\u200b/x\"", 'U', 'U'}, /* a step of nothing that is seen */
    {SRV, "\"/srv/data/a\\uff0fb\"", 'U', 'U'},
    {SRV, "\"/srv/data/ x\"", 'U', 'U'},
    {SRV, "\"/srv/data/x \"", 'U', 'U'},
    {SRV, "\"/srv/data/x /y\"", 'U', 'U'},
    {SRV, "\"/srv/data/x\\u00a0\"", 'U', 'U'},
    {SRV, "\"/srv/data/x\\u3000/y\"", 'U', 'U'},
    {SRV, "\"/srv/data/x\\ufeff\"", 'U', 'U'},
    {SRV, "\"/srv/data/x \\u200b\"", 'U', 'U'},
    {SRV, "\"/srv/data/a b\"", 'T', 'T'},
    {SRV, "\"/srv/data/x'\"", 'U', 'U'},
    {SRV, "\"/srv/data/x\\\"/y\"", 'U', 'U'},
    {SRV, "\"/srv/data/x\\uff02\"", 'U', 'U'},
    {SRV, "\"/srv/data/it's\"", 'T', 'T'},
    {SRV, "\"'/srv/data/x'\"", 'U', 'U'},
    {SRV, "\" /srv/data/x\"", 'U', 'U'},
    {SRV, "\"\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\u00fcbersicht.csv\"", 'T', 'T'},
    {SRV, "\"/srv/data/$HOME/x\"", 'T', 'T'}, /* what a tool expands is for `letters` and `without` */
    {SRV, "\"/srv/data/-rf\"", 'T', 'T'},
    {SRV, "\"/SRV/data/x\"", 'U', 'U'}, /* a file system may fold */
    {SRV, "\"/\\uff53rv/data/x\"", 'U', 'U'},
    {SRV, "\"/\\u017frv/data/x\"", 'U', 'U'},
    {SRV, "\"/s\\u200brv/data/x\"", 'U', 'U'},
    {SRV, "\"/srv/d\\u0430ta/x\"", 'F', 'F'}, /* a letter of another script is another name */
    {"path: {under: \"/srv/caf\\u00e9\"}", "\"/srv/cafe/x\"", 'F', 'F'},
    {"path: {under: \"/srv/caf\\u00e9\"}", "\"/srv/cafe\\u0301/x\"", 'U', 'U'},
    {"path: {under: \"/srv/caf\\u00e9\"}", "\"/srv/caf\\u00e9/x\"", 'T', 'T'},
    {"path: {under: \"/srv/stra\\u00dfe\"}", "\"/srv/STRASSE/x\"", 'U', 'U'},
    /* what is no path at all, and where a relative one leads nobody knows */
    {SRV, "\"srv/data/x\"", 'U', 'F'},
    {SRV, "\".\"", 'U', 'F'},
    {SRV, "5", 'F', 'F'},
    {SRV, "null", 'F', 'F'},
    {SRV, "true", 'F', 'F'},
    {HERE, "5", 'F', 'F'},
    {HERE, "true", 'F', 'F'},
    {SRV, "[\"/srv/data/x\"]", 'U', 'U'},
    {SRV, "{\"/srv/data/x\":1}", 'U', 'U'},
    /* from where the server stands */
    {HERE, "\"x\"", 'T', 'T'},
    {HERE, "\"x/y.c\"", 'T', 'T'},
    {HERE, "\".\"", 'T', 'T'},
    {HERE, "\"./x\"", 'T', 'T'},
    {HERE, "\"./\"", 'U', 'U'},
    {HERE, "\"././x\"", 'U', 'U'},
    {HERE, "\"..\"", 'U', 'U'},
    {HERE, "\"x/..\"", 'U', 'U'},
    {HERE, "\"/x\"", 'U', 'F'},
    {HERE, "\"/\"", 'U', 'F'},
    {HERE, "\"-rf\"", 'U', 'U'},
    {HERE, "\"--pathspec-from-file=a.txt\"", 'U', 'U'},
    {HERE, "\"./-rf\"", 'U', 'U'}, /* who normalises it has an option */
    {HERE, "\"\\uff0drf\"", 'U', 'U'},
    {HERE, "\"\\u200b-rf\"", 'U', 'U'},
    {HERE, "\"~\"", 'U', 'U'},
    {HERE, "\"~root/x\"", 'U', 'U'},
    {HERE, "\"+x\"", 'U', 'U'},
    {HERE, "\"@args\"", 'U', 'U'},
    {HERE, "\"=x\"", 'U', 'U'},
    {HERE, "\"'x\"", 'U', 'U'}, /* servers cut off a quote */
    {HERE, "\"\\uff02x\"", 'U', 'U'},
    {HERE, "\":(top)x\"", 'U', 'U'},
    {HERE, "\"x/-rf\"", 'T', 'T'},
    {HERE, "\"a-b~c+d@e=f\"", 'T', 'T'},
    {HERE, "\"file:/etc/passwd\"", 'U', 'U'},
    {HERE, "\"me@evil.example:x\"", 'U', 'U'},
    {HERE, "\"x\\uff1ay/z\"", 'U', 'U'},
    {HERE, "\"x/y:z\"", 'T', 'T'},
    {"path: {under: src/lib}", "\"src/lib/a.c\"", 'T', 'T'},
    {"path: {under: src/lib}", "\"./src/lib/a.c\"", 'T', 'T'},
    {"path: {under: src/lib}", "\"src/library\"", 'F', 'F'},
    {"path: {under: src/lib}", "\"/src/lib/a.c\"", 'U', 'F'},
    {"path: {under: /}", "\"/etc/x\"", 'T', 'T'},
    {"path: {under: /}", "\"/\"", 'T', 'T'},
    {"path: {under: [/srv, .]}", "\"x\"", 'T', 'T'},
    {"path: {under: [/srv, .]}", "\"/srv/x\"", 'T', 'T'},
    {"path: {under: [/srv, .]}", "\"/etc/x\"", 'U', 'F'},
};

/* What is asked of the steps below the folder. */
static const struct row steps[] = {
    {"path: {under: /srv, not_under: /srv/keys}", "\"/srv/x\"", 'T', 'T'},
    {"path: {under: /srv, not_under: /srv/keys}", "\"/srv/keys\"", 'F', 'F'},
    {"path: {under: /srv, not_under: /srv/keys}", "\"/srv/keys/a\"", 'F', 'F'},
    {"path: {under: /srv, not_under: /srv/keys}", "\"/srv/keysx\"", 'T', 'T'},
    {"path: {under: /srv, not_under: /srv/keys}", "\"/srv/Keys/a\"", 'U', 'U'},
    {"path: {under: /srv, not_under: /srv/keys}", "\"/srv/\\uff4beys/a\"", 'U', 'U'},
    {"path: {under: /srv, not_under: [/srv/a, /srv/keys]}", "\"/srv/k\\u00adeys/a\"", 'U', 'U'},
    {"path: {under: /srv, below: 1+}", "\"/srv\"", 'F', 'F'},
    {"path: {under: /srv, below: 1+}", "\"/srv/\"", 'F', 'F'},
    {"path: {under: /srv, below: 1+}", "\"/srv/a/b/c\"", 'T', 'T'},
    {"path: {under: /srv, below: 2-3}", "\"/srv/a\"", 'F', 'F'},
    {"path: {under: /srv, below: 2-3}", "\"/srv/a/b/\"", 'T', 'T'},
    {"path: {under: /srv, below: 2-3}", "\"/srv/a/b/c/d\"", 'F', 'F'},
    {"path: {under: /srv, below: 1}", "\"/srv/a/b\"", 'F', 'F'},
    {"path: {under: ., below: 0}", "\".\"", 'T', 'T'},
    {"path: {under: ., below: 1+}", "\".\"", 'F', 'F'},
    {"path: {under: /srv, hidden: [.gitignore, '.env.*']}", "\"/srv/a/.gitignore\"", 'T', 'T'},
    {"path: {under: /srv, hidden: [.gitignore, '.env.*']}", "\"/srv/.env.example\"", 'T', 'T'},
    {"path: {under: /srv, hidden: [.gitignore, '.env.*']}", "\"/srv/.env\"", 'F', 'F'},
    {"path: {under: /srv, hidden: [.gitignore]}", "\"/srv/.git/config\"", 'F', 'F'},
    {"path: {under: /srv, hidden: [.gitignore]}", "\"/srv/.GITIGNORE\"", 'U', 'U'},
    {"path: {under: /srv, hidden: [.gitignore]}", "\"/srv/.gi\\u200btignore\"", 'U', 'U'},
    {"path: {under: /srv, hidden: [.gitignore]}", "\"/srv/\\u200b.git/config\"", 'F', 'F'},
    {"path: {under: /srv, hidden: [.gitignore]}", "\"/srv/\\u2024git/config\"", 'F', 'F'},
    {"path: {under: /srv}", "\"/srv/\\uff0egit/config\"", 'U', 'U'},
    {"path: {under: /srv, hidden: any}", "\"/srv/.git/config\"", 'T', 'T'},
    {"path: {under: /srv/.config}", "\"/srv/.config/x\"", 'T', 'T'},
    {"path: {under: /srv, endings: [.c, .h]}", "\"/srv/a.c\"", 'T', 'T'},
    {"path: {under: /srv, endings: [.c, .h]}", "\"/srv/a.c/\"", 'F', 'F'},
    {"path: {under: /srv, endings: [.c, .h]}", "\"/srv/a.cc\"", 'F', 'F'},
    {"path: {under: /srv, endings: [.c, .h]}", "\"/srv/a.C\"", 'U', 'U'},
    {"path: {under: /srv, endings: [.c, .h]}", "\"/srv/a.c/x\"", 'F', 'F'},
    {"path: {under: /srv.c, endings: .c}", "\"/srv.c\"", 'F', 'F'},
    {"path: {under: /srv, endings: .c, names: [Makefile, 'README*']}", "\"/srv/Makefile\"", 'T', 'T'},
    {"path: {under: /srv, endings: .c, names: [Makefile, 'README*']}", "\"/srv/README.de\"", 'T', 'T'},
    {"path: {under: /srv, endings: .c, names: [Makefile, 'README*']}", "\"/srv/makefile\"", 'U', 'U'},
    {"path: {under: /srv, endings: .c, names: [Makefile, 'README*']}", "\"/srv/Makefile/x\"", 'F', 'F'},
    {"path: {under: /srv, endings: .c, names: [Makefile, 'README*']}", "\"/srv\"", 'F', 'F'},
    {"path: {under: /srv, hidden: any, names: .gitignore}", "\"/srv/.gitignore\"", 'T', 'T'},
    {"path: {under: /srv, none_of: [card, '*secret*']}", "\"/srv/a\"", 'T', 'T'},
    {"path: {under: /srv, none_of: [card, '*secret*']}", "\"/srv/4111111111111111.txt\"", 'F', 'F'},
    {"path: {under: /srv, none_of: [card, '*secret*']}", "\"/srv/\\uff14111111111111111\"", 'U', 'U'},
    {"path: {under: /srv, none_of: [card, '*secret*']}", "\"/srv/41\\u200b11111111111111\"", 'U', 'U'},
    {"path: {under: /srv, none_of: [card, '*secret*']}", "\"/srv/my-secret/x\"", 'F', 'F'},
    {"path: {under: /srv, none_of: [card, '*secret*']}", "\"/srv/my-SECRET/x\"", 'U', 'U'},
    {"path: {under: /srv, none_of: [card, '*secret*']}", "\"/srv/se\\u00adcret\"", 'U', 'U'},
    {"path: {under: /srv, none_of: '\\shadow'}", "\"/srv/shadow\"", 'F', 'F'},
    {"path: {under: /srv/secret, none_of: '*secret*'}", "\"/srv/secret/x\"", 'T', 'T'}, /* the folder itself is meant */
    {"path: {under: /srv, hidden: [.secret], none_of: '*secret*'}", "\"/srv/.secret\"", 'T', 'T'},
    {"path: {under: /srv, hidden: [.secret], none_of: '*secret*'}", "\"/srv/.secret/my-secret\"", 'F', 'F'},
    {"path: {under: /srv, hidden: any, none_of: '*secret*'}", "\"/srv/.secret\"", 'F', 'F'},
    {"path: {under: /srv, letters: plain}", "\"/srv/a B-1_.+@=,\\u00e4e\\u0301\\u0661\"", 'T', 'T'},
    {"path: {under: /srv, letters: plain}", "\"/srv/$HOME\"", 'F', 'F'},
    {"path: {under: /srv, letters: plain}", "\"/srv/*\"", 'F', 'F'},
    {"path: {under: /srv, letters: plain}", "\"/srv/a:b\"", 'F', 'F'},
    {"path: {under: /srv, letters: plain}", "\"/srv/a;b\"", 'F', 'F'},
    {"path: {under: /srv, letters: plain}", "\"/srv/a\\u00a0b\"", 'U', 'U'},
    {"path: {under: /srv, letters: plain}", "\"/srv/a\\u200bb\"", 'U', 'U'},
    {"path: {under: /srv, letters: plain}", "\"/srv/a\\u3164b\"", 'U', 'U'}, /* a letter that is drawn as nothing */
    {"path: {under: /srv, letters: plain}", "\"/srv/a\\ufe0fb\"", 'U', 'U'},
    {"path: {under: '/srv/$x', letters: plain}", "\"/srv/$x/a\"", 'T', 'T'},
    {"path: {under: /srv, without: '*?[]:'}", "\"/srv/a\"", 'T', 'T'},
    {"path: {under: /srv, without: '*?[]:'}", "\"/srv/a*\"", 'F', 'F'},
    {"path: {under: /srv, without: '*?[]:'}", "\"/srv/a/b:c/d\"", 'F', 'F'},
    {"path: {under: /srv, without: '*?[]:'}", "\"/srv/a\\uff0a\"", 'U', 'U'},
    /* all of it for one folder */
    {"path: {under: [/srv, /srv/a], below: 1}", "\"/srv/a/b\"", 'T', 'T'},
    {"path: {under: [/srv, /srv/a], below: 1}", "\"/srv/b/c\"", 'F', 'F'},
    {"path: [{under: /srv, endings: .c}, {under: /tmp}]", "\"/tmp/x\"", 'T', 'T'},
    {"path: [{under: /srv, endings: .c}, {under: /tmp}]", "\"/srv/x\"", 'F', 'F'},
    /* who calls: the tenant is acme, the principal bot */
    {"path: {under: '/desk/{tenant}/{principal}', below: 1+}", "\"/desk/acme/bot/x\"", 'T', 'T'},
    {"path: {under: '/desk/{tenant}/{principal}', below: 1+}", "\"/desk/acme/other/x\"", 'F', 'F'},
    {"path: {under: '/desk/{tenant}/{principal}', below: 1+}", "\"/desk/acme/BOT/x\"", 'U', 'U'},
    {"path: {under: 'agent/{principal}', below: 1-3, letters: plain}", "\"agent/bot/fix\"", 'T', 'T'},
    {"path: {under: 'agent/{principal}', below: 1-3, letters: plain}", "\"agent/bot\"", 'F', 'F'},
    {"path: {under: /desk, not_under: '/desk/{tenant}'}", "\"/desk/acme/x\"", 'F', 'F'},
    {"path: {under: /desk, not_under: '/desk/{tenant}'}", "\"/desk/other/x\"", 'T', 'T'},
    {"path: {under: '/{{tenant}}'}", "\"/{tenant}/x\"", 'T', 'T'},
    /* in a URL */
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h/docs/a\"", 'T', 'T'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h/docs/a?x#y\"", 'T', 'T'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h/documents\"", 'F', 'F'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h/docs/../key\"", 'U', 'U'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h/docs/..;/key\"", 'U', 'U'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h/docs/a;x/b\"", 'U', 'U'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h/docs/%2e%2e/key\"", 'U', 'U'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h/x?/docs/a\"", 'F', 'F'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://i/docs/a\"", 'F', 'F'},
    {"url: {hosts: [h], path: {under: /docs}}", "\"https://h\"", 'F', 'F'},
    {"url: {hosts: [h], path: {under: /}}", "\"https://h\"", 'T', 'T'},
    {"url: {hosts: [h], path: {under: /, endings: .html}}", "\"https://h/a.html?x=.js\"", 'T', 'T'},
    {"url: {hosts: [h], query: none}", "\"https://h/a\"", 'T', 'T'},
    {"url: {hosts: [h], query: none}", "\"https://h/a?\"", 'F', 'F'},
    {"url: {hosts: [h], query: none}", "\"https://h?a\"", 'F', 'F'},
    {"url: {hosts: [h], query: none}", "\"https://h/a#b?c\"", 'U', 'U'},
};

TEST_CASE(test_spelled)
{
    CHECK(spelled);
}

TEST_CASE(test_steps)
{
    CHECK(steps);
}

/* A text that is too long is false; where the condition closes it is undecided, since it may lead into the folder. */
TEST_CASE(test_long)
{
    char value[4096], name[1024];

    for (size_t len = 993; len <= 994; len++) {
        struct row row = {"path: {under: /srv}", value, len == 993 ? 'T' : 'U', len == 993 ? 'T' : 'F'};
        char arguments[4200];

        memset(name, 'x', len);
        name[len] = '\0';
        snprintf(value, sizeof value, "\"/srv/a/%s\"", name); /* 7 characters before it */
        snprintf(arguments, sizeof arguments, "{\"v\":%s}", row.value);
        assert_int_equal(truth_of_condition("{arg: v, path: {under: /srv}}", span_text(arguments), false), row.closing);
        assert_int_equal(truth_of_condition("{arg: v, path: {under: /srv}}", span_text(arguments), true), row.opening);
    }
}

/* ---- faults and warnings ---- */

#define RULE(condition) \
    "policy: p\nrules:\n  - {id: r, effect: permit, match: {upstreams: [u], tools: [t]}, when: [{arg: v, " condition "}]}\n"

static struct faults faults, warnings;

TEST_CASE(test_faults)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {RULE("path: {below: 1+}"), "name folders"},
        {RULE("path: {under: /srv, deep: 1}"), "`path` knows no `deep`"},
        {RULE("path: []"), "nothing is in an empty list"},
        {RULE("path: 5"), "write a map"},
        {RULE("path: inside"), "this file has no path `inside`"},
        {RULE("path: {under: []}"), "nothing is in an empty list"},
        {RULE("path: {under: ''}"), "holds an empty step"},
        {RULE("path: {under: /srv/../x}"), "holds a step `.` or `..`"},
        {RULE("path: {under: /srv//x}"), "holds an empty step"},
        {RULE("path: {under: '/srv/%61'}"), "the folder `/srv/%61` holds `%`"},
        {RULE("path: {under: '~/x'}"), "begins with one of"},
        {RULE("path: {under: '/srv/x '}"), "begins or ends with a blank"},
        {RULE("path: {under: /srv, not_under: keys}"), "lies below no folder of `under`"},
        {RULE("path: {under: /srv, not_under: /srv}"), "lies below no folder of `under`"},
        {RULE("path: {under: /srv, not_under: /var/keys}"), "lies below no folder of `under`"},
        {RULE("path: {under: '/srv/{tenant}', not_under: 'keys'}"), "lies below no folder of `under`"},
        {RULE("path: /srv"), "write {under: /srv}"},
        {RULE("path: {under: /srv, below: 2-1}"), "write the smaller number first, as in 1-2"},
        {RULE("path: {under: /srv, below: -1}"), "write 1+, 2-4 or 3"},
        {RULE("path: {under: /srv, below: 1.5}"), "write 1+, 2-4 or 3"},
        {RULE("path: {under: /srv, below: 1-}"), "write 1+, 2-4 or 3"},
        {RULE("path: {under: /srv, below: '+'}"), "write 1+, 2-4 or 3"},
        {RULE("path: {under: /srv, below: 501}"), "500 at most"},
        {RULE("path: {under: /srv, hidden: [git]}"), "begin with a dot"},
        {RULE("path: {under: /srv, hidden: ['.*']}"), "write `hidden: any`"},
        {RULE("path: {under: /srv, hidden: '.?*'}"), "write `hidden: any`"},
        {RULE("path: {under: /srv, hidden: ['.a/b']}"), "the name of no step"},
        {RULE("path: {under: /srv, hidden: []}"), "nothing is in an empty list"},
        {RULE("path: {under: /srv, names: ''}"), "the name of no step"},
        {RULE("path: {under: /srv, endings: [py]}"), "write the dot, as in .py"},
        {RULE("path: {under: /srv, endings: ['.*']}"), "or a glob under `names`"},
        {RULE("path: {under: /srv, none_of: secret_names}"), "this set has no detector `secret_names`"},
        {RULE("path: {under: /srv, none_of: [private_key]}"), "policies/detectors/keys.yaml has it"},
        {RULE("path: {under: /srv, letters: ascii}"), "write `plain`"},
        {RULE("path: {under: /srv, without: ''}"), "the characters that no step may hold"},
        {RULE("path: {under: /srv, without: 'a/b'}"), "leave out `/`"},
        {RULE("url: {path: {below: 1}}"), "name folders"},
        {RULE("url: {query: some}"), "write `none`"},
        {RULE("url: {path: {under: docs}}"), "`docs` is relative, and the path of a URL begins with /"},
        {"policy: p\npaths: {inside: {under: /a/../b}}\n", "holds a step `.` or `..`"},
        {"policy: p\npaths: {inside: /srv}\n", "a map"},
        {"policy: p\npaths: [a]\n", "write a map"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy *policy;

        if (compile_text(rows[i].text, &policy, &faults, NULL) != CODE_INVALID || faults.count != 1 ||
            strstr(faults.fault[0].text, rows[i].words) == NULL)
            fail_msg("%s: %zu faults, wanted `%s`, got `%s`", rows[i].text, faults.count, rows[i].words, faults.fault[0].text);
    }
}

static bool warned(const char *text, const char *words)
{
    struct policy *policy;
    bool found = false;

    if (compile_text(text, &policy, &faults, &warnings) != CODE_OK)
        fail_msg("%s: %s", text, faults.fault[0].text);
    for (size_t i = 0; i < warnings.count && i < FAULTS_MAX; i++)
        found |= strstr(warnings.fault[i].text, words) != NULL;
    policy_unref(&policy);
    return found;
}

TEST_CASE(test_warnings)
{
    assert_true(warned("policy: p\npaths: {inside: {under: /srv}}\n", "the path `inside` is used by no rule"));
    assert_false(warned("policy: p\npaths: {inside: {under: /srv}}\nrules:\n  - {id: r, effect: permit, "
                        "match: {upstreams: [u], tools: [t]}, when: [{arg: v, path: inside}]}\n", "is used by no rule"));
    assert_true(warned(RULE("path: {under: '/srv/{user}'}"), "`{user}` is no variable"));
    assert_true(warned(RULE("path: {under: '/srv/${USER}'}"), "looks like a variable"));
}

/* ---- by name ---- */

#define SHARING "policy: words\nshared: true\nlists: {dots: [.gitignore]}\ndetectors: {bad: {pattern: 'key', finds: [key]}}\n" \
    "paths: {inside: {under: /srv, hidden: {list: dots}, none_of: bad}, outside: {under: /tmp}}\n"
#define USER "policy: user\nrules:\n" \
    "  - {id: r, effect: require_approval, match: {tools: [t]}, when: [{arg: v, absent: ignored, path: [inside, outside]}]}\n"

static struct policy *compiled(const char *first, const char *second)
{
    struct policy_file files[] = {{SPAN_LIT("one.yaml"), span_text(first)}, {SPAN_LIT("two.yaml"), span_text(second)}};
    struct policy *policy;

    faults_init(&faults);
    if (policy_compile(files, 2, 0, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%s:%d: %s", faults.fault[0].file, faults.fault[0].line, faults.fault[0].text);
    return policy;
}

static char held(struct policy *policy, const char *arguments)
{
    struct court court = {.policy = policy};
    char kind;

    assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
    arena_init(&court.arena, 1 << 20);
    buf_init(&court.text, 1 << 20);
    kind = judge_args(&court, arguments)->kind == VERDICT_HOLD ? court.verdict.undecided.len > 0 ? 'U' : 'T' : 'F';
    policy_scratch_free(&court.scratch);
    arena_fini(&court.arena);
    buf_fini(&court.text);
    return kind;
}

/* A path that a file shares means what that file says, in any order of the files. */
TEST_CASE(test_names)
{
    for (int turned = 0; turned <= 1; turned++) {
        struct policy *policy = turned ? compiled(USER, SHARING) : compiled(SHARING, USER);

        assert_int_equal(held(policy, "{\"v\":\"/srv/x\"}"), 'T');
        assert_int_equal(held(policy, "{\"v\":\"/tmp/x\"}"), 'T');
        assert_int_equal(held(policy, "{\"v\":\"/srv/.gitignore\"}"), 'T');
        assert_int_equal(held(policy, "{\"v\":\"/srv/.git\"}"), 'F');
        assert_int_equal(held(policy, "{\"v\":\"/srv/my-key\"}"), 'F');
        assert_int_equal(held(policy, "{\"v\":\"/srv/my-KEY\"}"), 'U');
        assert_int_equal(held(policy, "{\"v\":\"/etc/x\"}"), 'F');
        policy_unref(&policy);
    }
}

/* A fault in what is shared is told once, with its file. */
TEST_CASE(test_shared_fault)
{
    static const char bad[] = "policy: words\nshared: true\npaths: {inside: {under: /srv, hidden: [x]}, outside: {under: /tmp}}\n";

    for (int turned = 0; turned <= 1; turned++) {
        struct policy_file files[] = {{SPAN_LIT("one.yaml"), span_text(turned ? USER : bad)},
                                      {SPAN_LIT("two.yaml"), span_text(turned ? bad : USER)}};
        struct policy *policy;

        faults_init(&faults);
        assert_int_equal(policy_compile(files, 2, 0, &policy, &faults, NULL), CODE_INVALID);
        assert_int_equal(faults.count, 1);
        assert_string_equal(faults.fault[0].file, turned ? "two.yaml" : "one.yaml");
        assert_int_equal(faults.fault[0].line, 3);
    }
}

/* An approval is bound to what the names stand for, a detector in a list among them. */
TEST_CASE(test_hash)
{
    static const char *const others[] = {
        "policy: words\nshared: true\nlists: {dots: [.gitignore]}\ndetectors: {bad: {pattern: 'key', finds: [key]}}\n"
        "paths: {inside: {under: /srv/a, hidden: {list: dots}, none_of: bad}, outside: {under: /tmp}}\n",
        "policy: words\nshared: true\nlists: {dots: [.git]}\ndetectors: {bad: {pattern: 'key', finds: [key]}}\n"
        "paths: {inside: {under: /srv, hidden: {list: dots}, none_of: bad}, outside: {under: /tmp}}\n",
        "policy: words\nshared: true\nlists: {dots: [.gitignore]}\ndetectors: {bad: {pattern: 'keys', finds: [keys]}}\n"
        "paths: {inside: {under: /srv, hidden: {list: dots}, none_of: bad}, outside: {under: /tmp}}\n",
    };
    struct policy *first = compiled(SHARING, USER), *again = compiled(USER, SHARING);

    assert_true(span_equals(first->rules[0].people.rule_hash, again->rules[0].people.rule_hash));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct policy *other = compiled(others[i], USER);

        assert_false(span_equals(first->rules[0].people.rule_hash, other->rules[0].people.rule_hash));
        policy_unref(&other);
    }
    policy_unref(&first);
    policy_unref(&again);
}

/* Whichever allocation fails, a call is denied or judged rightly. */
TEST_CASE(test_memory)
{
    static const char text[] = "policy: p\nrules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: [{arg: v, path: {under: "
                               "'/srv/{tenant}', none_of: '*secret*'}}]}\n";
    struct court court;

    court_open(&court, text);
    for (uint64_t nth = 1; nth < 40; nth++) {
        struct question question = plain_question();
        const struct json_node *root = court_tree(&court, SPAN_LIT("{\"v\":\"/srv/acme/my-SECRE\\u0301T\"}"));

        question.root = root;
        mem_fail_at(nth, 0);
        policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
        mem_fail_at(0, 0);
        assert_true(court.verdict.kind == VERDICT_PERMIT || court.verdict.kind == VERDICT_DENY);
    }
    assert_int_equal(judge_args(&court, "{\"v\":\"/srv/acme/my-SECRE\\u0301T\"}")->kind, VERDICT_PERMIT);
    assert_int_equal(judge_args(&court, "{\"v\":\"/srv/acme/my-SECR\\u0045T\"}")->kind, VERDICT_DENY);
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
