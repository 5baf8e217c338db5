/* SPDX-License-Identifier: Apache-2.0 */
/* schema/audit.sql inside the program.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef AUDIT_SCHEMA_PRIV_H
#define AUDIT_SCHEMA_PRIV_H

#define AUDIT_APPLICATION_ID 0x43474155 /* "CGAU" */
#define AUDIT_SCHEMA_VERSION 1          /* user_version; format 1 */

extern const char audit__schema[];

#endif
