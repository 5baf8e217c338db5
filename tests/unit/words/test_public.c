/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/judge.h"

#include <arpa/inet.h>

/* T, F or U of `url: {to: public}` where it opens. */
static char leads(const char *url)
{
    char arguments[512];

    snprintf(arguments, sizeof arguments, "{\"v\":\"%s\"}", url);
    return truth_of_condition("{arg: v, url: {to: public}}", span_text(arguments), true);
}

static void all_lead(const char *const *hosts, size_t count, char wanted)
{
    for (size_t i = 0; i < count; i++) {
        char url[256], truth;

        snprintf(url, sizeof url, "https://%s/x", hosts[i]);
        truth = leads(url);
        if (truth != wanted)
            fail_msg("%s is %c, wanted %c", url, truth, wanted);
    }
}

#define ALL_LEAD(hosts, wanted) all_lead(hosts, sizeof hosts / sizeof *hosts, wanted)

/* 12.5: one address of each range of IANA's registries and their edges, and how else they are written. */
TEST_CASE(test_addresses)
{
    static const char *const inside[] = {
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255", "127.0.0.1",
        "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.255.255", "172.16.0.0", "172.31.255.255",
        "192.0.0.0", "192.0.0.8", "192.0.0.170", "192.0.0.192", "192.0.0.255", "192.0.2.1", "192.88.99.2", "192.168.0.0",
        "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1",
        "255.255.255.255", "168.63.129.16",
        "[::]", "[::1]", "[::7f00:1]", "[::127.0.0.1]", "[::10.1.2.3]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]",
        "[0:0:0:0:0:ffff:10.0.0.1]", "[64:ff9b::10.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::8.8.8.8]", "[2002:7f00:1::]",
        "[2002:a00:1::5]", "[2002:a9fe:a9fe::1]", "[100::1]", "[2001::1]", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2001:2::1]",
        "[2001:10::1]", "[2001:1::4]", "[2001:db8::1]", "[3fff::1]", "[3fff:fff::1]", "[5f00::1]", "[fc00::1]", "[fd00:ec2::254]",
        "[fe80::1]", "[fec0::1]", "[ff02::1]", "[ff0e::1]", "[4000::1]", "[1::1]", "[::ffff:0:8.8.8.8]",
    };
    static const char *const outside[] = {
        "1.0.0.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.0.9", "192.0.0.10", "192.0.1.0",
        "192.0.3.0", "192.31.196.1", "192.52.193.1", "192.88.98.255", "192.167.255.255", "192.169.0.0", "192.175.48.1", "198.17.255.255",
        "198.20.0.0", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "168.63.129.15", "168.63.129.17",
        "[2000::1]", "[2001:1::1]", "[2001:1::2]", "[2001:1::3]", "[2001:3::1]", "[2001:4:112::1]", "[2001:20::1]", "[2001:30::1]",
        "[2001:200::1]", "[2001:4860:4860::8888]", "[2620:4f:8000::1]", "[2001:db7:ffff::1]", "[2001:db9::1]", "[3ffe::1]",
        "[3fff:1000::1]", "[::8.8.8.8]", "[::ffff:8.8.8.8]", "[64:ff9b::8.8.8.8]", "[2002:808:808::1]",
    };
    static const char *const debatable[] = {
        "2130706433", "0x7f000001", "017700000001", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1", "127.0.0.01", "127.0.0.1.",
        "[::1%25lo]", "[fe80::1%25eth0]", "[::1", "::1", "[127.0.0.1]", "[1.2.3.4.5]", "256.1.1.1", "1.2.3", "0", "1",
        "8.8.8.8@127.0.0.1", "8.8.8.8:80@127.0.0.1", "127.0.0.1%2f", "127.0.0.1%23.example.org", "%31%32%37.0.0.1", "\\u2488.0.0.1",
        "\\uff11\\uff12\\uff17.0.0.1", "127\\u30020\\u30020\\u30021", "127.0.0.1\\\\@example.org", "a b.example.org", "", ":80",
        "example.org.", "www..example.org", ".example.org", "ex%61mple.org", "b\\u00fccher.example.org", "example.org:0x50",
    };

    ALL_LEAD(inside, 'F');
    ALL_LEAD(outside, 'T');
    ALL_LEAD(debatable, 'U');
}

/* What IANA's registries of special-purpose addresses say is "Globally Reachable", as of 9 October 2025, all of both. N/A is not;
 * `-` is a block that holds IPv4 addresses, which are asked in its place. Multicast stands in registries of its own. */
static const struct block {
    const char *network;
    int bits;
    char reachable;
} blocks[] = {
    {"0.0.0.0", 8, 'F'}, {"0.0.0.0", 32, 'F'}, {"10.0.0.0", 8, 'F'}, {"100.64.0.0", 10, 'F'}, {"127.0.0.0", 8, 'F'},
    {"169.254.0.0", 16, 'F'}, {"172.16.0.0", 12, 'F'}, {"192.0.0.0", 24, 'F'}, {"192.0.0.0", 29, 'F'}, {"192.0.0.8", 32, 'F'},
    {"192.0.0.9", 32, 'T'}, {"192.0.0.10", 32, 'T'}, {"192.0.0.170", 32, 'F'}, {"192.0.0.171", 32, 'F'},
    {"192.0.2.0", 24, 'F'}, {"192.31.196.0", 24, 'T'}, {"192.52.193.0", 24, 'T'}, {"192.88.99.0", 24, 'F'},
    {"192.88.99.2", 32, 'F'}, {"192.168.0.0", 16, 'F'}, {"192.175.48.0", 24, 'T'}, {"198.18.0.0", 15, 'F'},
    {"198.51.100.0", 24, 'F'}, {"203.0.113.0", 24, 'F'}, {"224.0.0.0", 4, 'F'}, {"240.0.0.0", 4, 'F'},
    {"255.255.255.255", 32, 'F'}, {"::1", 128, 'F'}, {"::", 128, 'F'}, {"::ffff:0:0", 96, '-'}, {"64:ff9b::", 96, '-'},
    {"64:ff9b:1::", 48, 'F'}, {"100::", 64, 'F'}, {"100:0:0:1::", 64, 'F'}, {"2001::", 23, 'F'}, {"2001::", 32, 'F'},
    {"2001:1::1", 128, 'T'}, {"2001:1::2", 128, 'T'}, {"2001:1::3", 128, 'T'}, {"2001:2::", 48, 'F'}, {"2001:3::", 32, 'T'},
    {"2001:4:112::", 48, 'T'}, {"2001:10::", 28, 'F'}, {"2001:20::", 28, 'T'}, {"2001:30::", 28, 'T'},
    {"2001:db8::", 32, 'F'}, {"2002::", 16, '-'}, {"2620:4f:8000::", 48, 'T'}, {"3fff::", 20, 'F'}, {"5f00::", 16, 'F'},
    {"fc00::", 7, 'F'}, {"fe80::", 10, 'F'}, {"ff00::", 8, 'F'},
};

/* Sets the bits behind `bits` of `address`. */
static void fill(unsigned char address[16], int bits, int width)
{
    for (int i = bits; i < width; i++)
        address[i / 8] |= (unsigned char)(0x80 >> i % 8);
}

/* 12.5, 12.11: the first and the last address of each block, as the registries have it. */
TEST_CASE(test_registries)
{
    for (const struct block *one = blocks; one < blocks + sizeof blocks / sizeof *blocks; one++) {
        int family = strchr(one->network, ':') == NULL ? AF_INET : AF_INET6;
        unsigned char address[16] = {0};
        char text[INET6_ADDRSTRLEN], host[64], last[64];
        const char *both[] = {host, last};

        snprintf(host, sizeof host, family == AF_INET ? "%s" : "[%s]", one->network);
        assert_int_equal(inet_pton(family, one->network, address), 1);
        fill(address, one->bits, family == AF_INET ? 32 : 128);
        assert_non_null(inet_ntop(family, address, text, sizeof text));
        snprintf(last, sizeof last, family == AF_INET ? "%s" : "[%s]", text);
        if (one->reachable != '-')
            ALL_LEAD(both, one->reachable);
    }
}

/* 12.5, 12.11: IANA's special-use domain names as of 27 September 2026, and a name below each. The registry's example.com,
 * example.net and example.org are on the internet, and lead there. */
TEST_CASE(test_special_names)
{
    static const char *const names[] = {
        "alt", "6tisch.arpa", "eap.arpa", "eap-noob.arpa", "home.arpa", "10.in-addr.arpa", "254.169.in-addr.arpa", "16.172.in-addr.arpa",
        "31.172.in-addr.arpa", "168.192.in-addr.arpa", "170.0.0.192.in-addr.arpa", "171.0.0.192.in-addr.arpa", "8.e.f.ip6.arpa",
        "b.e.f.ip6.arpa", "ipv4only.arpa", "resolver.arpa", "service.arpa", "example", "invalid", "local", "localhost", "onion", "test",
    };
    static const char *const outside[] = {"example.com", "example.net", "example.org", "x.example.com"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char below[64];
        const char *both[] = {names[i], below};

        snprintf(below, sizeof below, "x.%s", names[i]);
        ALL_LEAD(both, 'F');
    }
    ALL_LEAD(outside, 'T');
}

/* 12.5: names with a dot, but those of special use, those that lead inside, and what only looks like these. */
TEST_CASE(test_names)
{
    static const char *const inside[] = {
        "localhost", "LOCALHOST", "metadata", "intranet", "a.localhost", "db.internal", "metadata.google.internal", "printer.local",
        "x.home.arpa", "1.0.0.127.in-addr.arpa", "x.onion", "x.test", "x.invalid", "x.alt", "shop.example", "nas.lan",
        "x.localdomain", "api.default.svc", "api.default.svc.cluster.local", "host.docker.internal", "nip.io", "127.0.0.1.nip.io",
        "app-7f000001.NIP.IO", "10-0-0-1.sslip.io", "a.b.localtest.me", "lvh.me", "x.lvh.me", "10-0-0-1.x.plex.direct",
        "7f000001.c0a80001.rbndr.us", "metadata.goog", "metadata.tencentyun.com", "fritz.box", "x.corp", "x.mail",
    };
    static const char *const outside[] = {
        "example.com", "files.example.org", "WWW.EXAMPLE.NET", "metadata.example.org", "localhost.example.org", "notnip.io",
        "nip.io.example.org", "mynip.io", "local.example.org", "internal.example.org", "a.xn--p1ai", "x.io", "localhost-notes.org",
        "under_score.example.org", "localtest.men", "mailto.org", "svc.org",
    };

    ALL_LEAD(inside, 'F');
    ALL_LEAD(outside, 'T');
}

/* 12.5: with the other words of `url`, and where there is no host. */
TEST_CASE(test_with_others)
{
    static const struct {
        const char *asks, *url;
        char truth;
    } rows[] = {
        {"{to: public, schemes: [https]}", "http://example.org/", 'F'},
        {"{to: public, hosts: ['*.example.org']}", "https://a.example.org/", 'T'},
        {"{to: public, hosts: ['*.example.org']}", "https://a.example.com/", 'F'},
        {"{to: public, hosts: ['*']}", "https://a.internal/", 'F'},
        {"{to: public, hosts: ['*']}", "https://8.8.8.8/", 'U'},
        {"{to: public, hosts: ['8.8.8.8', '10.0.0.1']}", "https://8.8.8.8/", 'T'},
        {"{to: public, hosts: ['8.8.8.8', '10.0.0.1']}", "https://10.0.0.1/", 'F'},
        {"{to: public}", "https://example.org:8443/", 'F'},
        {"{to: public, ports: any}", "https://example.org:8443/", 'T'},
        {"{to: public, ports: [8443]}", "https://example.org/", 'F'},
        {"{to: public}", "ftp://example.org/", 'T'},
        {"{to: public}", "ftp://10.0.0.1/", 'F'},
        {"{to: public}", "gopher://10.0.0.1/", 'F'},
        {"{to: public}", "mailto:ada@example.org", 'U'},
        {"{to: public}", "data:text/html,x", 'U'},
        {"{to: public}", "file:///etc/passwd", 'U'},
        {"{to: public}", "file://example.org/etc/passwd", 'U'},
        {"{to: public, schemes: [https]}", "file://example.org/etc/passwd", 'F'},
        {"{to: public, schemes: [gopher], ports: any}", "gopher://example.org/", 'T'},
        {"{to: public}", "file://10.0.0.1/x", 'F'},
        {"{to: public}", "javascript:alert(1)", 'U'},
        {"{to: public}", "//example.org/", 'U'},
        {"{to: public}", "example.org", 'U'},
        {"{to: public}", "/x", 'U'},
        {"{to: public}", "", 'U'},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char condition[256], arguments[256], truth;

        snprintf(condition, sizeof condition, "{arg: v, url: %s}", rows[i].asks);
        snprintf(arguments, sizeof arguments, "{\"v\":\"%s\"}", rows[i].url);
        truth = truth_of_condition(condition, span_text(arguments), true);
        if (truth != rows[i].truth)
            fail_msg("%s of %s is %c, wanted %c", rows[i].asks, rows[i].url, truth, rows[i].truth);
    }
}

TEST_MAIN(NULL, NULL)
