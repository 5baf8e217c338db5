/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor's schema/audit.sql is the one that the gate runs: taken in as it is, so that no second copy can differ. */
#include "audit/schema_priv.h"

__asm__(".pushsection .rodata\n"
        ".global audit__schema\n"
        ".type audit__schema, @object\n"
        "audit__schema:\n"
        ".incbin \"schema/audit.sql\"\n"
        ".byte 0\n"
        ".size audit__schema, . - audit__schema\n"
        ".popsection\n");
