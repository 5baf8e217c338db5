/* SPDX-License-Identifier: Apache-2.0 */
/* Why a token is not taken: X(NAME, "what is wrong; what to do"). For people: agents are told `invalid_token`.
 *
 * The sentences name no value of the token, so that a log may have them. */
#ifndef IDENTITY_FAULT_TBL_H
#define IDENTITY_FAULT_TBL_H

#define IDENTITY_FAULT_TABLE(X) \
    X(NONE, "Nothing is wrong with it.") \
    X(MEMORY, "The gate is short of memory; the token was not judged.") \
    /* its form */ \
    X(SIZE, "It is longer than 16 KiB; have the provider put less into it.") \
    X(FORM, "It is no signed JSON Web Token: three parts of unpadded base64url with dots between.") \
    X(HEADER, "Its header is no JSON object that has one reading.") \
    X(CLAIMS, "Its claims are no JSON object that has one reading: a doubled name, a NUL, or no JSON.") \
    X(CRITICAL, "Its header has `crit`: an extension that must be understood, and none is.") \
    X(KEY_ID, "Its key id is no text of 1 to 256 visible ASCII characters.") \
    X(TYPE, "Its `typ` is not that of an access token (`at+jwt`); where the provider says otherwise, `id_token_like: true` takes it.") \
    X(ID_TOKEN, "It bears the marks of an ID token, which tells a client who logged in and is no credential for a server.") \
    X(LOGIN, "It is no ID token of a login: it says that it is of another kind.") \
    /* its signature */ \
    X(ALGORITHM, "Its algorithm is none of the provider's `algorithms`.") \
    X(UNKNOWN_KEY, "No key of the provider's set has its key id and fits its algorithm.") \
    X(KEY_AMBIGUOUS, "It names no key id, and more than one key of the provider's set fits its algorithm.") \
    X(SIGNATURE, "Its signature is not that of the provider's key.") \
    /* what it claims */ \
    X(ISSUER, "Its `iss` is not the provider's `issuer`, byte for byte.") \
    X(AUDIENCE, "It is not for this route: `aud` does not name the route's `audience`.") \
    X(INACTIVE, "The provider says that it is not active.") \
    X(TIMES, "It has no `exp`, or `exp`, `nbf` or `iat` is no number of seconds.") \
    X(EXPIRED, "It has expired.") \
    X(EARLY, "It is not valid yet: `nbf` or `iat` lies ahead; compare the clocks.") \
    X(LIFE, "It is valid for longer than the provider's `longest`.") \
    X(REQUIRED, "A claim that the route's `require` names is absent or another.") \
    X(PRINCIPAL, "The claim that is to name the principal is not exactly one text of 1 to 256 visible ASCII characters.") \
    X(AGENT, "The claim that is to name the agent is there, and is not exactly one text of 1 to 256 visible ASCII characters.") \
    X(TENANT, "The claim that is to name the tenant is not exactly one text of 1 to 128 visible ASCII characters.") \
    X(TENANT_TABLE, "The route's table of tenants has no line for what the token's claim says.") \
    X(GROUPS, "The claim of the groups is no list of texts of 1 to 256 characters that a person can read.") \
    X(GROUPS_ELSEWHERE, "It has too many groups to carry them and says where they are (`_claim_names`, `hasgroups`); have the provider put in only those that matter.") \
    X(SCOPES, "Its `scope` or `scp` is no list of scopes.") \
    /* what it is bound to */ \
    X(CONFIRMATION, "Its `cnf` names something that the gate cannot check.") \
    X(CERTIFICATE_MISSING, "It is bound to a client certificate, and the connection shows none.") \
    X(CERTIFICATE_OTHER, "It is bound to another client certificate than the connection's.") \
    X(PROOF_MISSING, "It is bound to a key (DPoP), and the request has no proof, or the scheme is not DPoP.") \
    X(PROOF_UNBOUND, "It came by the scheme DPoP and is bound to no key.") \
    X(PROOF_FORM, "The proof is no JSON Web Token of the type `dpop+jwt` with a public key.") \
    X(PROOF_ALGORITHM, "The proof's algorithm is none that the gate takes, or does not fit the proof's key.") \
    X(PROOF_SIGNATURE, "The proof's signature is not that of its key.") \
    X(PROOF_KEY, "The proof is made with another key than the one that the token is bound to.") \
    X(PROOF_METHOD, "The proof is for another HTTP method.") \
    X(PROOF_URL, "The proof is for another URL.") \
    X(PROOF_TIME, "The proof was not made just now; compare the clocks.") \
    X(PROOF_TOKEN, "The proof is for another token, or for none (`ath`).") \
    X(PROOF_ID, "The proof has no `jti` of 1 to 256 bytes.") \
    X(PROOF_REPLAYED, "The proof was used already, or was made before the gate started.") \
    X(PROOF_SHARE, "As many proofs of this tenant or principal are remembered as may be; try again later.")

#endif
