"""What curious members can compute of another node's data from what they receive.

An audit plays the attacker: it takes the letters that members receive while the first
layer is solved, and finds out from them what it can of one node's rows.
"""

from dssfn.audit.attackers import Wanted, node_called
from dssfn.audit.audits import Audit, RecordedRun, audit_recorded, audit_simulated
from dssfn.audit.findings import Attack, Figures, Report
from dssfn.audit.recorded import read_recording
from dssfn.audit.truth import Scaling

__all__ = [
    "Attack",
    "Audit",
    "Figures",
    "RecordedRun",
    "Report",
    "Scaling",
    "Wanted",
    "audit_recorded",
    "audit_simulated",
    "node_called",
    "read_recording",
]
