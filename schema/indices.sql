-- SPDX-License-Identifier: Apache-2.0
--
-- The indices of a sealed file. The gate makes them beside its calls, one after the other; a file may still lack some.
-- Indices are not evidence: they are compared with the tables, and can be dropped and made again.

CREATE INDEX IF NOT EXISTS decision_correlation ON decision(correlation);
CREATE INDEX IF NOT EXISTS decision_time ON decision(time_us);
CREATE INDEX IF NOT EXISTS decision_tenant ON decision(tenant, time_us);
CREATE INDEX IF NOT EXISTS decision_tool ON decision(tool, verdict, time_us);
CREATE INDEX IF NOT EXISTS decision_principal ON decision(principal, time_us);
CREATE INDEX IF NOT EXISTS decision_rule ON decision(rule, time_us);
CREATE INDEX IF NOT EXISTS decision_session ON decision(session, time_us);
