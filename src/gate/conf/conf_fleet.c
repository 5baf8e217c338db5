/* SPDX-License-Identifier: Apache-2.0 */
/* Which fleet this gate is of. What a URL of a database may say its own room knows (pg/pg.h); the gate has nothing of it. */
#include "conf/conf_priv.h"

void conf__fleet_of(struct conf_reader *reader, const struct yaml_node *root, struct conf_fleet *fleet)
{
    const struct yaml_node *node = yaml_member(root, "fleet");

    *fleet = (struct conf_fleet){.membership = NULL};
    if (node == NULL || !conf__read(reader, node, conf__fleet, "`fleet`", fleet))
        return;
    (void)conf__need(reader, node, "membership", "gate-1.member");
    if (fleet->database != NULL && !span_starts_with(span_text(fleet->database), SPAN_LIT("postgresql://")))
        CONF_FAULT(reader, yaml_member(node, "database"), "`%s` is no URL of a database; write "
                   "'postgresql://HOST/NAME?sslmode=verify-full&sslrootcert=db-ca.pem', or leave it to the membership",
                   fleet->database);
}
