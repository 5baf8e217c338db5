/* SPDX-License-Identifier: Apache-2.0 */
/* 3.1: files of checkpoints, keys and proofs come from strangers. Any bytes: read or refused; a note that is read is found by
 * whoever reads it again, and a proof either holds and says what it proves, or says why not. */
#include "proof/note.h"
#include "base/bug.h"
#include "evidence/prove.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void read_notes(struct span file, const struct note_key *key)
{
    struct span rest = file, text, alone;

    while (note_next(&rest, &text)) {
        struct span again = text;
        struct note note;

        BUG_ON(text.at < file.at || text.at + text.len > file.at + file.len || text.len == 0);
        BUG_ON(!note_next(&again, &alone) || !span_equals(text, alone) || again.len != 0);
        if (note_read(text, &note) != CODE_OK)
            continue;
        BUG_ON(note.origin.len == 0 || note.text.len + note.signatures.len + 1 != text.len);
        BUG_ON(note_verify(&note, key) == NOTE_SIGNED && key->name[0] == '\0' && note.signatures.len < 90);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span text = span_of(bytes, len);
    struct note_key key;
    struct proof_report report;

    if (note_key_read(text, &key) == CODE_OK)
        BUG_ON(memchr(key.name, '+', sizeof key.name) != NULL);
    else
        key = (struct note_key){.name = ""};
    read_notes(text, &key);
    if (audit_check_proof(text, NULL, SPAN_NONE, &report) == CODE_OK) {
        BUG_ON(report.fault[0] == '\0' && report.what[0] == '\0');
        BUG_ON(report.fault[0] == '\0' && !audit_is_proof(text));
    }
    return 0;
}
