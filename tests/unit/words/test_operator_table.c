/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that read what a text means: URLs, addresses, forms. */
#include "unit/policy/rows.h"
#include "judgement/judgement.h"

#define SHOP "url: {schemes: [https], hosts: [example.com, '*.example.com']}"
#define ANY_HTTP "url: {schemes: [http, HTTPS]}"
#define PORTS "url: {schemes: [https, git], hosts: [a.example], ports: [443, 8443]}"
#define NUMBERED "url: {hosts: [10.0.0.1, '[2001:db8::1]', '10.*', '*.example']}"

static const struct row url_rows[] = {
    {SHOP, "\"https://example.com\"", 'T', 'T'},
    {SHOP, "\"https://example.com/a?b#c\"", 'T', 'T'},
    {SHOP, "\"HTTPS://EXAMPLE.com/\"", 'T', 'T'},
    {SHOP, "\"https://a.b.example.com:443/\"", 'T', 'T'},
    {SHOP, "\"https://example.com:/\"", 'T', 'T'},
    {SHOP, "\"https://example.com?x\"", 'T', 'T'},
    {SHOP, "\"https://example.com#@evil.com/\"", 'T', 'T'},
    {SHOP, "\"https://example.com/@x\"", 'T', 'T'},
    {SHOP, "\"http://example.com\"", 'F', 'F'},
    {SHOP, "\"https://example.com:8443/\"", 'F', 'F'},
    {SHOP, "\"https://example.com.evil.com/\"", 'F', 'F'},
    {SHOP, "\"https://evilexample.com/\"", 'F', 'F'},
    {SHOP, "\"https://evil.com/?.example.com\"", 'F', 'F'},
    {SHOP, "\"https://evil.com#.example.com\"", 'F', 'F'},
    {SHOP, "\"https://e_vil-.com/\"", 'F', 'F'},
    {SHOP, "\"https://10.0.0.1/\"", 'F', 'F'},
    {SHOP, "\"https://[::1]/\"", 'F', 'F'},
    {SHOP, "\"https://user@example.com/\"", 'U', 'U'},
    {SHOP, "\"https://example.com@evil.com/\"", 'U', 'U'},
    {SHOP, "\"https://example.com:443@evil.com/\"", 'U', 'U'},
    {SHOP, "\"https://evil.com\\\\@example.com/\"", 'U', 'U'},
    {SHOP, "\"https://example.com./\"", 'U', 'U'},
    {SHOP, "\"https://example..com/\"", 'U', 'U'},
    {SHOP, "\"https://.example.com/\"", 'U', 'U'},
    {SHOP, "\"https://ex%61mple.com/\"", 'U', 'U'},
    {SHOP, "\"https://example.com/%61\"", 'T', 'T'},
    {SHOP, "\"https://ex\\u00e4mple.com/\"", 'U', 'U'},
    {SHOP, "\"https://example.com/\\u00e4\"", 'U', 'U'},
    {SHOP, "\"https://example.\\u017fom/\"", 'U', 'U'},
    {SHOP, "\"https://example.com/e\\u0301\"", 'U', 'U'},
    {SHOP, "\"https://example.com/ x\"", 'U', 'U'},
    {SHOP, "\"https://example.com/\\n\"", 'U', 'U'},
    {SHOP, "\"https://example.com/\\u0001\"", 'U', 'U'},
    {SHOP, "\"ht\\ttps://example.com/\"", 'U', 'U'},
    {SHOP, "\"https:/example.com/\"", 'U', 'U'},
    {SHOP, "\"https:example.com/\"", 'U', 'U'},
    {SHOP, "\"https:///example.com/\"", 'U', 'U'},
    {SHOP, "\"https://\"", 'U', 'U'},
    {SHOP, "\"https://:443/\"", 'U', 'U'},
    {SHOP, "\"https://2130706433/\"", 'U', 'U'},
    {SHOP, "\"https://127.1/\"", 'U', 'U'},
    {SHOP, "\"https://0177.0.0.1/\"", 'U', 'U'},
    {SHOP, "\"https://0x7f.0x1/\"", 'U', 'U'},
    {SHOP, "\"https://example.0x/\"", 'U', 'U'},
    {SHOP, "\"https://[::1/\"", 'U', 'U'},
    {SHOP, "\"https://[::1]x/\"", 'U', 'U'},
    {SHOP, "\"https://[fe80::1%25eth0]/\"", 'U', 'U'},
    {SHOP, "\"https://[v1.x]/\"", 'U', 'U'},
    {SHOP, "\"https://example.com:0443/\"", 'U', 'U'},
    {SHOP, "\"https://example.com:99999/\"", 'U', 'U'},
    {SHOP, "\"https://example.com:44a/\"", 'U', 'U'},
    {SHOP, "\"https://ex!mple.com/\"", 'U', 'U'},
    {SHOP, "\"https://evil.com:44a/\"", 'F', 'F'},
    {SHOP, "\"ftp://ex!mple.com/\"", 'F', 'F'},
    {SHOP, "\"ftp://u@example.com/\"", 'U', 'U'},
    {SHOP, "\"//example.com/\"", 'U', 'U'},
    {SHOP, "\"example.com\"", 'U', 'U'},
    {SHOP, "\"/a/b\"", 'U', 'U'},
    {SHOP, "\"example.com:443\"", 'F', 'F'}, /* a scheme of that name */
    {SHOP, "\"1https://example.com/\"", 'U', 'U'},
    {SHOP, "\"://example.com/\"", 'U', 'U'},
    {SHOP, "\"\"", 'U', 'U'},
    {SHOP, "\"data:text/html,x\"", 'F', 'F'},
    {SHOP, "null", 'U', 'U'},
    {SHOP, "5", 'U', 'U'},
    {SHOP, "{}", 'U', 'U'},
    {SHOP, "[\"https://example.com\"]", 'U', 'U'},
    {ANY_HTTP, "\"https://anything.example\"", 'T', 'T'},
    {ANY_HTTP, "\"http://anything.example:80\"", 'T', 'T'},
    {ANY_HTTP, "\"http://anything.example:443\"", 'F', 'F'},
    {ANY_HTTP, "\"http://10.0.0.1/\"", 'U', 'U'},
    {ANY_HTTP, "\"http://[::1]/\"", 'U', 'U'},
    {ANY_HTTP, "\"http:/x\"", 'U', 'U'},
    {ANY_HTTP, "\"http://:81/\"", 'U', 'U'},
    {ANY_HTTP, "\"http://a.b/c\\\\d\"", 'U', 'U'},
    {ANY_HTTP, "\"ftp://x\"", 'F', 'F'},
    {"url: {schemes: [mailto, file, git]}", "\"mailto:a@b\"", 'T', 'T'},
    {"url: {schemes: [mailto, file, git]}", "\"file:///etc/passwd\"", 'T', 'T'},
    {"url: {schemes: [mailto, file, git]}", "\"git://host/x\"", 'T', 'T'},
    {"url: {schemes: [mailto, file, git]}", "\"git://host:9418/x\"", 'F', 'F'},
    {"url: {hosts: ['*']}", "\"mailto:a\"", 'U', 'U'},
    {"url: {hosts: ['*']}", "\"file:///x\"", 'U', 'U'},
    {"url: {hosts: ['*']}", "\"gopher://a.b/\"", 'T', 'T'},
    {"url: {hosts: ['*']}", "\"http://1.2.3.4/\"", 'U', 'U'},
    {PORTS, "\"https://a.example/\"", 'T', 'T'},
    {PORTS, "\"https://a.example:/\"", 'T', 'T'},
    {PORTS, "\"https://a.example:8443/\"", 'T', 'T'},
    {PORTS, "\"https://a.example:80/\"", 'F', 'F'},
    {PORTS, "\"git://a.example:443/\"", 'T', 'T'},
    {PORTS, "\"git://a.example/\"", 'U', 'U'},
    {"url: {hosts: [a.b], ports: any}", "\"http://a.b:81/\"", 'T', 'T'},
    {"url: {hosts: [a.b], ports: any}", "\"git://a.b/\"", 'T', 'T'},
    {"url: {hosts: [a.b], ports: any}", "\"http://a.b:081/\"", 'U', 'U'},
    {"url: {hosts: [a.b], ports: any}", "\"http://a.c:81/\"", 'F', 'F'},
    {NUMBERED, "\"http://10.0.0.1/\"", 'T', 'T'},
    {NUMBERED, "\"http://10.0.0.2/\"", 'U', 'U'},
    {NUMBERED, "\"http://11.0.0.2/\"", 'F', 'F'},
    {NUMBERED, "\"http://[2001:DB8:0::1]/\"", 'T', 'T'},
    {NUMBERED, "\"http://[2001:db8::2]/\"", 'F', 'F'},
    {NUMBERED, "\"http://[::ffff:10.0.0.1]/\"", 'T', 'T'}, /* what it reaches, as `cidr` has it */
    {NUMBERED, "\"http://[::ffff:a00:2]/\"", 'F', 'F'},
    {NUMBERED, "\"http://10.0.0.1.example/\"", 'T', 'T'},
    {NUMBERED, "\"http://10.0.0.1.evil/\"", 'T', 'T'}, /* a glob on names, as it says */
    {"url: {hosts: ['a?.example']}", "\"http://ab.example/\"", 'T', 'T'},
    {"url: {hosts: ['a?.example']}", "\"http://a.example/\"", 'F', 'F'},
    {"url: {hosts: [EXAMPLE.com]}", "\"http://example.com/\"", 'T', 'T'},
};

/* 2.11, 2.1: schemes, hosts and ports; all that clients read in different ways is undecided. */
TEST_CASE(test_url)
{
    CHECK(url_rows);
}

#define SHOP_SQL \
    "sql: {statements: [select, explain], tables: ['public.*', orders, pg_catalog.pg_class], functions: [count, 'json*', s.f]}"
#define DELETES "sql: {statements: [delete], tables: ['*']}"

static const struct row sql_rows[] = {
    {SHOP_SQL, "\"select 1\"", 'T', 'T'},
    {SHOP_SQL, "\"/* a */ SELECT count(*), jsonb_agg(x), s.f() FROM orders, public.\\\"Any\\\";\"", 'T', 'T'},
    {SHOP_SQL, "\"explain analyze select * from orders\"", 'T', 'T'},
    {SHOP_SQL, "\"select 1; select 2 from orders\"", 'T', 'T'},
    {SHOP_SQL, "\"with x as (select 1) select * from x\"", 'T', 'T'},
    {SHOP_SQL, "\"select pg_catalog.count(*), x::int, extract(year from d) is null from orders\"", 'U', 'U'},
    {SHOP_SQL, "\"select pg_catalog.count(*), x::int from orders\"", 'T', 'T'},
    {SHOP_SQL, "\"select public.count(*)\"", 'U', 'U'},
    {SHOP_SQL, "\"select f()\"", 'U', 'U'},
    {SHOP_SQL, "\"select \\\"Count\\\"(*)\"", 'U', 'U'},
    {SHOP_SQL, "\"explain analyze delete from orders\"", 'U', 'U'},
    {SHOP_SQL, "\"select * into orders from orders\"", 'U', 'U'},
    {SHOP_SQL, "\"select * from orders for update\"", 'U', 'U'},
    {SHOP_SQL, "\"select * from customers\"", 'U', 'U'},
    {SHOP_SQL, "\"select * from \\\"public.orders\\\"\"", 'U', 'U'},
    {SHOP_SQL, "\"select * from \\\"Orders\\\"\"", 'U', 'U'},
    {SHOP_SQL, "\"select * from x.public.orders\"", 'U', 'U'},
    {SHOP_SQL, "\"select * from pg_class, pg_catalog.pg_class\"", 'T', 'T'},
    {SHOP_SQL, "\"select * from pg_authid\"", 'U', 'U'},
    {SHOP_SQL, "\"select 'pg_authid'::regclass\"", 'U', 'U'},
    {SHOP_SQL, "\"selec 1\"", 'U', 'U'},
    {SHOP_SQL, "\"\"", 'U', 'U'},
    {SHOP_SQL, "5", 'U', 'U'},
    {SHOP_SQL, "{\"a\":\"select 1\"}", 'U', 'U'},
    {SHOP_SQL ", decode: [percent]", "\"select '%27, pg_sleep(1), %27'\"", 'T', 'U'},
    {DELETES, "\"delete from t where a\"", 'T', 'T'},
    {DELETES, "\"delete from t\"", 'U', 'U'},
    {DELETES, "\"delete from public.t where a\"", 'U', 'U'},
    {DELETES, "\"delete from pg_class where a\"", 'U', 'U'},
    {DELETES, "\"select 1 from t\"", 'U', 'U'},
};

/* 7.6: true where all that the text uses is listed, undecided elsewhere, and never false. */
TEST_CASE(test_sql)
{
    CHECK(sql_rows);
}

#define PRIVATE "cidr: [10.0.0.0/8, 192.168.1.128/25, 127.0.0.1, '2001:db8::/33', '::1']"

/* 2.11, 2.1: what is no address is undecided; an IPv4-mapped address is the IPv4 address that it reaches. */
TEST_CASE(test_cidr)
{
    static const struct row rows[] = {
        {PRIVATE, "\"10.0.0.0\"", 'T', 'T'},
        {PRIVATE, "\"10.255.255.255\"", 'T', 'T'},
        {PRIVATE, "\"11.0.0.0\"", 'F', 'F'},
        {PRIVATE, "\"192.168.1.127\"", 'F', 'F'},
        {PRIVATE, "\"192.168.1.128\"", 'T', 'T'},
        {PRIVATE, "\"127.0.0.1\"", 'T', 'T'},
        {PRIVATE, "\"127.0.0.2\"", 'F', 'F'},
        {PRIVATE, "\"::1\"", 'T', 'T'},
        {PRIVATE, "\"0:0:0::1\"", 'T', 'T'},
        {PRIVATE, "\"::2\"", 'F', 'F'},
        {PRIVATE, "\"2001:DB8:7fff::\"", 'T', 'T'},
        {PRIVATE, "\"2001:db8:8000::\"", 'F', 'F'},
        {PRIVATE, "\"::ffff:10.1.2.3\"", 'T', 'T'},
        {PRIVATE, "\"::ffff:a01:203\"", 'T', 'T'},
        {PRIVATE, "\"::10.1.2.3\"", 'F', 'F'},
        {"cidr: 0.0.0.0/0", "\"255.255.255.255\"", 'T', 'T'},
        {"cidr: 0.0.0.0/0", "\"::1\"", 'F', 'F'},
        {"cidr: '::/0'", "\"::1\"", 'T', 'T'},
        {"cidr: '::/0'", "\"1.2.3.4\"", 'F', 'F'},
        {"cidr: '::/0'", "\"::ffff:1.2.3.4\"", 'F', 'F'},
        {PRIVATE, "\"010.0.0.1\"", 'U', 'U'},
        {PRIVATE, "\"10.1\"", 'U', 'U'},
        {PRIVATE, "\"0x0a.0.0.1\"", 'U', 'U'},
        {PRIVATE, "\"167772161\"", 'U', 'U'},
        {PRIVATE, "167772161", 'U', 'U'},
        {PRIVATE, "10.5", 'U', 'U'},
        {PRIVATE, "\"10.0.0.1/8\"", 'U', 'U'},
        {PRIVATE, "\"10.0.0.1:80\"", 'U', 'U'},
        {PRIVATE, "\"[::1]\"", 'U', 'U'},
        {PRIVATE, "\"fe80::1%eth0\"", 'U', 'U'},
        {PRIVATE, "\"10.0.0.1\\n\"", 'U', 'U'},
        {PRIVATE, "\" 10.0.0.1\"", 'U', 'U'},
        {PRIVATE, "\"10.0.0.256\"", 'U', 'U'},
        {PRIVATE, "\"\\uff11\\uff10.0.0.1\"", 'U', 'U'}, /* full-width digits */
        {PRIVATE, "\"localhost\"", 'U', 'U'},
        {PRIVATE, "\"\"", 'U', 'U'},
        {PRIVATE, "null", 'U', 'U'},
        {PRIVATE, "[\"10.0.0.1\"]", 'U', 'U'},
        {PRIVATE, "{}", 'U', 'U'},
    };

    CHECK(rows);
}

#define UUID "123e4567-e89b-12d3-a456-42661417"

static const struct row format_rows[] = {
    {"format: uuid", "\"" UUID "4000\"", 'T', 'T'},
    {"format: uuid", "\"123E4567-E89B-12D3-A456-426614174000\"", 'T', 'T'},
    {"format: uuid", "\"" UUID "400\"", 'F', 'F'},
    {"format: uuid", "\"" UUID "40000\"", 'F', 'F'},
    {"format: uuid", "\"" UUID "4000\\n\"", 'F', 'F'},
    {"format: uuid", "\"" UUID "400g\"", 'F', 'F'},
    {"format: uuid", "\"123e4567e89b-12d3-a456-4266141740000-\"", 'F', 'F'},
    {"format: uuid", "\"{" UUID "4000}\"", 'F', 'F'},
    {"format: uuid", "5", 'F', 'F'},
    {"format: uuid", "\"\"", 'F', 'F'},
    {"format: uuid", "null", 'F', 'F'},
    {"format: uuid", "[]", 'U', 'U'},
    {"format: uuid", "{}", 'U', 'U'},
    {"format: email", "\"a@b\"", 'T', 'T'},
    {"format: email", "\"a.b+c@mail.example.com\"", 'T', 'T'},
    {"format: email", "\"!#$%&'*+-/=?^_`{|}~@b.c\"", 'T', 'T'},
    {"format: email", "\"a@b@c\"", 'F', 'F'},
    {"format: email", "\"@b\"", 'F', 'F'},
    {"format: email", "\"a@\"", 'F', 'F'},
    {"format: email", "\"a\"", 'F', 'F'},
    {"format: email", "\"\"", 'F', 'F'},
    {"format: email", "\".a@b\"", 'F', 'F'},
    {"format: email", "\"a.@b\"", 'F', 'F'},
    {"format: email", "\"a..b@c\"", 'F', 'F'},
    {"format: email", "\"a b@c\"", 'F', 'F'},
    {"format: email", "\"a@b\\n\"", 'F', 'F'},
    {"format: email", "\"a@b.\"", 'F', 'F'},
    {"format: email", "\"a@-b.c\"", 'F', 'F'},
    {"format: email", "\"a@b-.c\"", 'F', 'F'},
    {"format: email", "\"a@b..c\"", 'F', 'F'},
    {"format: email", "\"a@[10.0.0.1]\"", 'F', 'F'},
    {"format: email", "\"\\\"a b\\\"@c\"", 'F', 'F'},
    {"format: email", "\"a@b\\u00e9\"", 'F', 'F'},
    {"format: email", "\"\\u017f@b\"", 'F', 'F'},
    {"format: email", "\"a@b, c@d\"", 'F', 'F'},
    {"format: date", "\"2024-02-29\"", 'T', 'T'},
    {"format: date", "\"2023-02-29\"", 'F', 'F'},
    {"format: date", "\"2000-02-29\"", 'T', 'T'},
    {"format: date", "\"1900-02-29\"", 'F', 'F'},
    {"format: date", "\"2024-04-31\"", 'F', 'F'},
    {"format: date", "\"2024-00-01\"", 'F', 'F'},
    {"format: date", "\"2024-13-01\"", 'F', 'F'},
    {"format: date", "\"2024-01-00\"", 'F', 'F'},
    {"format: date", "\"2024-1-1\"", 'F', 'F'},
    {"format: date", "\"2024-01-01\\n\"", 'F', 'F'},
    {"format: date", "\"2024-01-01T00:00:00Z\"", 'F', 'F'},
    {"format: date", "20240101", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59:59Z\"", 'T', 'T'},
    {"format: date-time", "\"2024-02-29t23:59:59.123456789z\"", 'T', 'T'},
    {"format: date-time", "\"2024-02-29T23:59:59+05:30\"", 'T', 'T'},
    {"format: date-time", "\"2024-02-29T23:59:59-00:00\"", 'T', 'T'},
    {"format: date-time", "\"1990-12-31T23:59:60Z\"", 'T', 'T'},
    {"format: date-time", "\"1990-12-31T15:59:60-08:00\"", 'T', 'T'},
    {"format: date-time", "\"1991-01-01T00:29:60+00:30\"", 'T', 'T'},
    {"format: date-time", "\"1990-12-31T22:59:60Z\"", 'F', 'F'},
    {"format: date-time", "\"1990-12-31T23:59:61Z\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T24:00:00Z\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:60:00Z\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59:59\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59:59.Z\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59:59,1Z\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29 23:59:59Z\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59Z\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59:59+24:00\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59:59+05:60\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59:59+0530\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-30T23:59:59Z\"", 'F', 'F'},
    {"format: date-time", "\"2024-02-29T23:59:59Z\\n\"", 'F', 'F'},
    {"format: date-time", "\"\"", 'F', 'F'},
    {"format: ipv4", "\"10.0.0.1\"", 'T', 'T'},
    {"format: ipv4", "\"10.0.0.01\"", 'F', 'F'},
    {"format: ipv4", "\"10.0.0\"", 'F', 'F'},
    {"format: ipv4", "\"::ffff:10.0.0.1\"", 'F', 'F'},
    {"format: ipv4", "10.5", 'F', 'F'},
    {"format: ipv6", "\"::\"", 'T', 'T'},
    {"format: ipv6", "\"::ffff:10.0.0.1\"", 'T', 'T'},
    {"format: ipv6", "\"1:2:3:4:5:6:7:8\"", 'T', 'T'},
    {"format: ipv6", "\"1:2:3:4:5:6:7:8:9\"", 'F', 'F'},
    {"format: ipv6", "\"1::2::3\"", 'F', 'F'},
    {"format: ipv6", "\"fe80::1%1\"", 'F', 'F'},
    {"format: ipv6", "\"10.0.0.1\"", 'F', 'F'},
    {"format: ipv6", "true", 'F', 'F'},
};

/* 2.11, 2.1: a form is had or not; arrays and objects are undecided, as for every string operator. */
TEST_CASE(test_format)
{
    CHECK(format_rows);
}

/* 7.7: what deceives a reader; the definition is unicode/'s, and its tests are tests/unit/unicode. */
static const struct row free_rows[] = {
    {"free_of: hidden", "\"Transfer 5 EUR\\tto\\r\\nAda\"", 'T', 'T'},
    {"free_of: hidden", "\"\"", 'T', 'T'},
    {"free_of: hidden", "5", 'T', 'T'},
    {"free_of: hidden", "null", 'T', 'T'},
    {"free_of: hidden", "[\"a\"]", 'U', 'U'},
    {"free_of: hidden", "\"a\\u200bb\"", 'F', 'F'},       /* zero width */
    {"free_of: hidden", "\"a\\u202eb\"", 'F', 'F'},       /* from right to left */
    {"free_of: hidden", "\"\\u2066a\\u2069\"", 'F', 'F'}, /* isolates */
    {"free_of: hidden", "\"a\\udb40\\udc41\"", 'F', 'F'}, /* a tag character */
    {"free_of: hidden", "\"a\\u001b[2J\"", 'F', 'F'},
    {"free_of: hidden", "\"a\\u0085b\"", 'F', 'F'},
    {"free_of: hidden", "\"a\\u2028b\"", 'F', 'F'},
    {"free_of: hidden", "\"soft\\u00adhyphen\"", 'F', 'F'},
    {"free_of: hidden", "\"\\ufeff\"", 'F', 'F'},
    {"free_of: hidden", "\"\\u0645\\u06cc\\u200c\\u062e\\u0648\\u0627\\u0647\\u0645\"", 'T', 'T'}, /* Persian needs it */
    {"free_of: hidden", "\"\\ud83d\\udc68\\u200d\\ud83d\\udc69\"", 'T', 'T'},                      /* one emoji */
    {"free_of: hidden", "\"a\\u200db\"", 'F', 'F'},
    {"free_of: hidden", "\"a%e2%80%8bb\"", 'T', 'T'},
    {"free_of: hidden, decode: [percent]", "\"a%e2%80%8bb\"", 'T', 'F'}, /* closing: a reading suffices */
    {"free_of: hidden, decode: [html, base64]", "\"YSYjeDIwMmU7Yg==\"", 'T', 'F'}, /* a&#x202e;b */
    {"free_of: hidden, decode: [unicode]", "\"a\\u200bb\"", 'T', 'F'}, /* what the decoder takes out was there */
    {"free_of: hidden, keys: true", "{\"a\\u200b\":1}", 'F', 'F'},
};

TEST_CASE(test_free_of)
{
    CHECK(free_rows);
}

/* A row whose condition and arguments are whole. */
struct whole_row {
    const char *condition, *arguments;
    char closing, opening;
};

static void check_whole(const struct whole_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char closing = truth_of_condition(rows[i].condition, span_text(rows[i].arguments), false);
        char opening = truth_of_condition(rows[i].condition, span_text(rows[i].arguments), true);

        if (closing != rows[i].closing || opening != rows[i].opening)
            fail_msg("%s on %s: closing %c, wanted %c; opening %c, wanted %c", rows[i].condition, rows[i].arguments, closing,
                     rows[i].closing, opening, rows[i].opening);
    }
}

#define CHECK_WHOLE(rows) check_whole(rows, sizeof rows / sizeof *rows)

/* 2.11, 2.1: names of members in place of their values; an absent value is false behind no `not` and true behind one. */
TEST_CASE(test_keys)
{
    static const struct whole_row rows[] = {
        {"{arg: h, keys: true, in: [a, b]}", "{\"h\":{\"a\":1,\"b\":2}}", 'T', 'T'},
        {"{arg: h, keys: true, in: [a, b]}", "{\"h\":{\"a\":1,\"c\":2}}", 'T', 'F'},
        {"{arg: '$.h.*', keys: true, in: [a, b]}", "{\"h\":{\"a\":1,\"c\":2}}", 'T', 'F'},
        {"{arg: h, keys: false, in: [a, b]}", "{\"h\":\"a\"}", 'T', 'T'},
        {"{arg: h, keys: true, in: [a]}", "{\"h\":{}}", 'F', 'T'},
        {"{arg: h, keys: true, in: [a]}", "{\"h\":[\"a\"]}", 'F', 'T'},
        {"{arg: h, keys: true, in: [a]}", "{\"h\":\"a\"}", 'F', 'T'},
        {"{arg: h, keys: true, in: [a]}", "{}", 'F', 'T'},
        {"{arg: $, keys: true, equals: x.y}", "{\"x.y\":1}", 'T', 'T'},
        {"{arg: $, keys: true, equals: ''}", "{\"\":1}", 'T', 'T'},
        {"{arg: $, keys: true, exists: true}", "{}", 'F', 'F'},
        {"{arg: $, keys: true, exists: true}", "{\"a\":{}}", 'T', 'T'},
        {"{arg: '$..*', keys: true, equals: __proto__}", "{\"a\":[{\"b\":{\"__proto__\":{}}}]}", 'T', 'F'},
        {"{arg: '$..*', keys: true, matches: '^[a-z]$'}", "{\"a\":[{\"b\":{\"c\":{}}}]}", 'T', 'T'},
        {"{arg: '$..*', keys: true, max_length: 1}", "{\"a\":{\"b\":[\"long\"]}}", 'T', 'T'},
        {"{arg: '$..h', keys: true, equals: a}", "{\"x\":[{\"h\":{\"a\":1}}]}", 'T', 'T'},
        {"{arg: '$.l[-1]', keys: true, equals: a}", "{\"l\":[{\"b\":1},{\"a\":1}]}", 'T', 'T'},
        {"{arg: '$.l[1:]', keys: true, equals: a}", "{\"l\":[{\"b\":1},{\"a\":1},{\"a\":1}]}", 'T', 'T'},
        {"{arg: '$.l[*].h', keys: true, equals: a}", "{\"l\":[{\"h\":{\"a\":1}},{\"h\":{\"a\":1}}]}", 'T', 'T'},
        {"{arg: '$.l[*].h', keys: true, equals: a, quantify: every}", "{\"l\":[{\"h\":{\"a\":1}},{\"h\":{}}]}", 'T', 'T'},
        {"{arg: $, keys: true, is: string}", "{\"a\":5}", 'T', 'T'},
        {"{arg: $, keys: true, min: 1}", "{\"5\":5}", 'U', 'U'},
        {"{arg: $, keys: true, matches: '(?i)k'}", "{\"\\u212a\":5}", 'T', 'U'},
        {"{arg: $, keys: true, equals: \"\\u00e9\"}", "{\"e\\u0301\":5}", 'F', 'F'},
        {"{arg: $, keys: true, equals: a}", "{\"a\\n\":5}", 'F', 'F'},
        {"{arg: $, keys: true, not_matches: '[a-z]+'}", "{\"a\":5,\"B\":6}", 'T', 'F'},
        {"{arg: $, keys: true, not_matches: '[a-z]+', max_length: 1}", "{\"B\":6}", 'T', 'T'},
    };

    CHECK_WHOLE(rows);
}

/* 2.11: elements without the asked member, keys with dots, slices and negative indices. */
TEST_CASE(test_paths)
{
    static const struct whole_row rows[] = {
        {"{arg: '$.v[*].a', equals: 1}", "{\"v\":[{\"a\":1},{}]}", 'T', 'T'}, /* behind `not` absence keeps the rule away */
        {"{arg: '$.v[0:2].a', equals: 1}", "{\"v\":[{\"a\":1},{}]}", 'T', 'T'},
        {"{arg: '$.v[1:3]', equals: 1}", "{\"v\":[0,1,1,0]}", 'T', 'T'},
        {"{arg: '$.v[1:3]', equals: 1}", "{\"v\":[1,0,0,1]}", 'F', 'F'},
        {"{arg: '$.v[-2:]', equals: 1}", "{\"v\":[0,1,1]}", 'T', 'T'},
        {"{arg: '$.v[::2]', equals: 1}", "{\"v\":[1,0,1,0]}", 'T', 'T'},
        {"{arg: '$.v[::-2]', equals: 1}", "{\"v\":[0,1,0,1]}", 'T', 'T'},
        {"{arg: '$.v[5:]', equals: 1}", "{\"v\":[1]}", 'F', 'T'},
        {"{arg: '$.v[::0]', equals: 1}", "{\"v\":[1]}", 'F', 'T'},
        {"{arg: '$.v[-1]', equals: 1}", "{\"v\":[0,1]}", 'T', 'T'},
        {"{arg: '$.v[-1]', equals: 1}", "{\"v\":[]}", 'F', 'T'},
        {"{arg: '$.v[-3]', equals: 1}", "{\"v\":[1,1]}", 'F', 'T'},
        {"{arg: '$.v[-1]', equals: 1}", "{\"v\":{\"-1\":1}}", 'F', 'T'},
        {"{arg: \"$['x.y']\", equals: 1}", "{\"x.y\":1,\"x\":{\"y\":2}}", 'T', 'T'},
        {"{arg: '$.x.y', equals: 1}", "{\"x.y\":1,\"x\":{\"y\":2}}", 'F', 'F'},
        {"{arg: w, under: /a}", "{\"v\":1}", 'F', 'T'},
        {"{arg: w, url: {hosts: [a]}}", "{\"v\":1}", 'F', 'T'},
        {"{arg: w, cidr: 10.0.0.1}", "{\"v\":1}", 'F', 'T'},
        {"{arg: w, format: uuid}", "{\"v\":1}", 'F', 'T'},
        {"{not: {arg: w, format: uuid}}", "{\"v\":1}", 'F', 'T'},
        {"{not: {not: {arg: w, format: uuid}}}", "{\"v\":1}", 'F', 'T'},
        {"{arg: w, format: uuid, absent: applies}", "{\"v\":1}", 'T', 'F'},
        {"{not: {arg: w, format: uuid, absent: applies}}", "{\"v\":1}", 'T', 'F'},
    };

    CHECK_WHOLE(rows);
}

/* 2.1: `meta: PATH` asks params._meta, whatever `$` is. */
TEST_CASE(test_meta)
{
    static const char policy[] = "policy: p\nrules:\n"
                                 "  - {id: a, effect: permit, match: {methods: ['*']},\n"
                                 "     when: [{meta: '$[\"x.y/z\"].who', equals: me}, {arg: who, equals: you}]}\n"
                                 "  - {id: k, effect: forbid, when: [{meta: $, keys: true, equals: bad}]}\n";
    struct court court;

    for (int method = 0; method < 2; method++)
        for (int right = 0; right < 3; right++) {
            struct question question = plain_question();
            const struct json_node *root;

            court_open(&court, policy);
            root = court_tree(&court, right == 0 ? SPAN_LIT("{\"a\":{\"who\":\"you\"},\"m\":{\"x.y/z\":{\"who\":\"me\"}}}")
                                      : right == 1 ? SPAN_LIT("{\"a\":{\"who\":\"you\",\"x.y/z\":{\"who\":\"me\"}}}")
                                                   : SPAN_LIT("{\"a\":{\"who\":\"you\"},\"m\":{\"x.y/z\":{\"who\":\"me\"},"
                                                              "\"bad\":0}}"));
            question.root = json_member(root, SPAN_LIT("a"));
            question.meta = json_member(root, SPAN_LIT("m"));
            if (method == 1) {
                question.method = SPAN_LIT("resources/read");
                question.tool = SPAN_NONE;
            }
            policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
            assert_int_equal(court.verdict.kind, right == 0 ? VERDICT_PERMIT : VERDICT_DENY);
            assert_int_equal(court.verdict.reason, right == 0   ? REASON_PERMITTED
                                                   : right == 1 ? REASON_NO_RULE
                                                                : REASON_FORBIDDEN);
            court_close(&court);
        }
}

/* 2.11: what does not fit into a row. NUL cannot be sent, but escapes can stand for it (above, `%00`). */
TEST_CASE(test_long_texts)
{
    size_t len = 1 << 20;
    char *json = malloc(len + 64);

    assert_non_null(json);
    memset(json, 'a', len + 32);
    memcpy(json, "{\"v\":\"/srv/", 11);
    memcpy(json + len, "\"}", 3);
    for (int opening = 0; opening <= 1; opening++) {
        assert_int_equal(truth_of_condition("{arg: v, under: /srv}", span_text(json), opening), 'T');
        assert_int_equal(truth_of_condition("{arg: v, under: /srv/data}", span_text(json), opening), 'F');
        assert_int_equal(truth_of_condition("{arg: v, cidr: 10.0.0.0/8}", span_text(json), opening), 'U');
        assert_int_equal(truth_of_condition("{arg: v, format: email}", span_text(json), opening), 'F');
        assert_int_equal(truth_of_condition("{arg: v, url: {hosts: [a]}}", span_text(json), opening), 'U');
    }
    for (size_t i = 11; i + 3 < len; i += 3)
        memcpy(json + i, "%2e", 3);
    assert_int_equal(truth_of_condition("{arg: v, under: /srv}", span_text(json), true), 'T'); /* a name of many dots */
    memcpy(json, "{\"v\":\"http://", 13);
    assert_int_equal(truth_of_condition("{arg: v, url: {hosts: ['*']}}", span_text(json), true), 'U');
    free(json);
}

TEST_MAIN(NULL, NULL)
