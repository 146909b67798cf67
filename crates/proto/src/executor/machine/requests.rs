//! Admission: which requests run, which are refused, and how many slots are free (spec 4.1, 4.3, 4.4).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use drawbridge_core::{OpError, Operation, RequestId, WallMs};
use serde_json::{Value, json};

use super::effect::{Effect, Negotiated, Note, Role, StatusFacts};
use crate::executor::codec::{Reply, ReplyContext, Request, RequestKind, seconds};
use crate::executor::errors::{error_details, wire_code};
use crate::executor::wire::{Capability, Envelope, ErrorCode, FromClient, Status};

/// The platform forgets a request after 15 minutes; ours end before that.
const REQUEST_MAX: Duration = Duration::from_secs(600);
/// The same for a request to the local model. The model alone may take ten minutes, which its own limit sees to (spec 11); before it
/// the person may be asked for their yes, and after it they may read the answer. Neither may eat the time of the other.
const MODEL_REQUEST_MAX: Duration = Duration::from_secs(840);

/// The requests of one connection that have no answer yet.
#[derive(Debug)]
pub(super) struct Admitted {
    max: u32,
    running: BTreeMap<RequestId, Running>,
}

#[derive(Debug)]
struct Running {
    op: &'static str,
    by: Instant,
    limit: Duration,
}

/// Why a request is refused.
struct Refusal {
    code: ErrorCode,
    message: String,
    details: Value,
}

impl Admitted {
    pub(super) fn up_to(max: u32) -> Self {
        Self { max, running: BTreeMap::new() }
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.running.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn free(&self) -> u32 {
        self.max.saturating_sub(self.count())
    }

    pub(super) fn is_full(&self) -> bool {
        self.free() == 0
    }

    pub(super) fn ids(&self) -> Vec<RequestId> {
        self.running.keys().cloned().collect()
    }

    /// Returns the type of a request that runs.
    pub(super) fn op_of(&self, id: &RequestId) -> Option<&'static str> {
        self.running.get(id).map(|running| running.op)
    }

    pub(super) fn release(&mut self, id: &RequestId) -> bool {
        self.running.remove(id).is_some()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.running.values().map(|running| running.by).min()
    }

    /// Starts a request or refuses it.
    pub(super) fn take_in(
        &mut self,
        request: &Request<'_>,
        role: &Role,
        negotiated: &Negotiated,
        now: Instant,
        wall: WallMs,
    ) -> Vec<Effect> {
        let id = request.id.clone();
        if self.running.contains_key(&id) {
            return vec![Effect::Note(Note::DuplicateId(id))];
        }
        let op = request.kind.name();
        let allowed = may_run(request.kind, role, negotiated).and_then(|()| self.has_room());
        if let Err(refusal) = allowed {
            return self.refuse(id, op, refusal, negotiated, wall);
        }
        match request.operation() {
            Ok(operation) => {
                let limit = limit_of(&operation);
                self.running.insert(id.clone(), Running { op, by: now + limit, limit });
                vec![Effect::Start { id, operation, limits: negotiated.limits }]
            }
            Err(error) => self.refuse(id, op, Refusal::of(&error, op), negotiated, wall),
        }
    }

    /// Ends what ran longer than anything may.
    pub(super) fn end_overdue(&mut self, negotiated: &Negotiated, now: Instant, wall: WallMs) -> Vec<Effect> {
        let overdue: Vec<(RequestId, &'static str, Duration)> = self
            .running
            .iter()
            .filter(|(_, running)| running.by <= now)
            .map(|(id, running)| (id.clone(), running.op, running.limit))
            .collect();
        let mut effects = Vec::new();
        for (id, op, limit) in overdue {
            self.release(&id);
            effects.push(Effect::Note(Note::RanTooLong(id.clone())));
            effects.push(Effect::Abort(id.clone()));
            let refusal = Refusal::of(&OpError::TookTooLong { limit }, op);
            effects.extend(self.refuse(id, op, refusal, negotiated, wall));
        }
        effects
    }

    fn has_room(&self) -> Result<(), Refusal> {
        if !self.is_full() {
            return Ok(());
        }
        Err(Refusal {
            code: ErrorCode::ShimOverloaded,
            message: format!("{} requests run on this connection and it takes no more; try again shortly", self.max),
            details: json!({"max_concurrent": self.max}),
        })
    }

    fn refuse(
        &self,
        id: RequestId,
        op: &'static str,
        refusal: Refusal,
        negotiated: &Negotiated,
        wall: WallMs,
    ) -> Vec<Effect> {
        let Refusal { code, message, details } = refusal;
        let reply = Reply::failure(&id, code, &message, details);
        let frame = reply.into_frame(wall, &negotiated.version, self.free());
        vec![Effect::Refused { id, op, code }, Effect::Send(frame)]
    }
}

impl Refusal {
    fn of(error: &OpError, op: &'static str) -> Self {
        Self {
            code: wire_code(error),
            message: error.to_string(),
            details: error_details(error, &ReplyContext::of_name(op)),
        }
    }
}

const fn limit_of(operation: &Operation) -> Duration {
    match operation {
        Operation::Model(_) => MODEL_REQUEST_MAX,
        Operation::File(_)
        | Operation::Command(_)
        | Operation::Browse(_)
        | Operation::Session(_)
        | Operation::Computer(_)
        | Operation::Hardware(_) => REQUEST_MAX,
    }
}

/// The order matters: on a control link the kind of link speaks before the grant (spec 17 no. 54).
fn may_run(kind: RequestKind, role: &Role, negotiated: &Negotiated) -> Result<(), Refusal> {
    let needed = kind.capability();
    let of_control = needed == Capability::DirectoryBrowse;
    if *role == Role::Control && !of_control {
        return Err(not_here(kind, "control_connection", "the machine's control connection does not take it"));
    }
    if !negotiated.granted.contains(&needed) {
        let granted: Vec<&str> = {
            let mut names: Vec<&str> = negotiated.granted.iter().map(|capability| capability.name()).collect();
            names.sort_unstable();
            names
        };
        return Err(Refusal {
            code: ErrorCode::CapabilityNotGranted,
            message: format!("the capability {} is not granted on this connection", needed.name()),
            details: json!({
                "capability": needed.name(),
                "required_capability": needed.name(),
                "granted_capabilities": granted,
                "op": kind.name(),
            }),
        });
    }
    if *role != Role::Control && of_control {
        return Err(not_here(kind, "data_connection", "the connection of a chat does not take it"));
    }
    Ok(())
}

fn not_here(kind: RequestKind, reason: &str, why: &str) -> Refusal {
    Refusal {
        code: ErrorCode::FeatureNotSupported,
        message: format!("{} is not supported here: {why}", kind.name()),
        details: json!({"feature": kind.name(), "reason": reason, "op": kind.name()}),
    }
}

/// Writes STATUS.
pub(super) fn status(
    id: String,
    negotiated: &Negotiated,
    admitted: &Admitted,
    facts: StatusFacts,
    uptime: Duration,
    wall: WallMs,
) -> Effect {
    let status = Status {
        in_flight: admitted.count(),
        max_concurrent: admitted.max,
        queue_depth: facts.queue_depth,
        audit_log_bytes: facts.audit_log_bytes,
        uptime_seconds: Duration::from_millis(u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX)).as_secs_f64(),
    };
    let mut frame = Envelope::new(id, seconds(wall), FromClient::Status(status));
    frame.version = Some(negotiated.version.clone());
    frame.pending_capacity = Some(admitted.free());
    Effect::Send(frame.to_text())
}
