//! The wire: requests on stdin, one JSON object a line, answers on stdout (docs/wire.md).

use std::io::{self, BufRead, Write};
use std::rc::Rc;

use serde_json::{json, Value};

use super::failure::Failure;
use super::interface::Implementation;
use super::run::{run_scenario, Bad, Observation};

const PROTOCOL: i64 = 1;
const NOT_JSON: i64 = -32700;
const BAD_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const BAD_PARAMS: i64 = -32602;
const REFUSED: i64 = -32001;
const UNSUPPORTED: i64 = -32002;
const INTERNAL: i64 = -32603;
const QUOTED: usize = 200;

/// Answers requests until `shutdown` or the end of stdin. Print with `eprintln!` only: stdout is for answers.
pub fn serve<I: Implementation>(implementation: I) -> io::Result<()> {
    let mut server = Server::new(implementation);
    let (mut requests, mut answers) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while !server.done {
        line.clear();
        if requests.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let mut answer = server.answer(&line);
        answer.push('\n');
        answers.write_all(answer.as_bytes())?;
        answers.flush()?;
    }
    Ok(())
}

/// An error on the wire: its code, the kind that the code means, and a message.
struct Fault(i64, &'static str, String);

impl Fault {
    fn protocol(code: i64, message: impl Into<String>) -> Self {
        Fault(code, "protocol", message.into())
    }
}

impl From<Bad> for Fault {
    fn from(bad: Bad) -> Self {
        match bad {
            Bad::Request(why) => Fault::protocol(BAD_PARAMS, why),
            Bad::Failure(failure) => {
                let code = match failure {
                    Failure::Refused(_) => REFUSED,
                    Failure::Unsupported(_) => UNSUPPORTED,
                    Failure::PrepareFailed | Failure::Internal(_) => INTERNAL,
                };
                let kind = if code == INTERNAL { "internal" } else { failure.kind() };
                Fault(code, kind, failure.to_string())
            }
        }
    }
}

enum Reply {
    Data(Value),
    Observed(Observation),
}

/// One connection.
pub struct Server<I: Implementation> {
    implementation: Rc<I>,
    initialized: bool,
    /// Whether the connection was ended.
    pub done: bool,
}

impl<I: Implementation> Server<I> {
    pub fn new(implementation: I) -> Self {
        Server { implementation: Rc::new(implementation), initialized: false, done: false }
    }

    /// The answer line to a request line, whatever that is.
    pub fn answer(&mut self, line: &[u8]) -> String {
        let mut id = None;
        match self.reply(line, &mut id) {
            Ok(Reply::Data(data)) => json!({"jsonrpc": "2.0", "id": id, "result": data}).to_string(),
            Ok(Reply::Observed(observation)) => {
                let body = serde_json::to_string(&observation).expect("observations are JSON");
                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{body}}}"#, id.unwrap_or(0))
            }
            Err(Fault(code, kind, message)) => {
                let error = json!({"code": code, "message": message, "data": {"kind": kind}});
                json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
            }
        }
    }

    fn reply(&mut self, line: &[u8], id: &mut Option<i64>) -> Result<Reply, Fault> {
        let quoted = || String::from_utf8_lossy(line).chars().take(QUOTED).collect::<String>();
        let mut request: Value = serde_json::from_slice(line)
            .map_err(|_| Fault::protocol(NOT_JSON, format!("not JSON: {}", quoted())))?;
        *id = request.get("id").and_then(Value::as_i64);
        if id.is_none() || request.get("jsonrpc") != Some(&json!("2.0")) {
            return Err(Fault::protocol(BAD_REQUEST, format!("not a request: {}", quoted())));
        }
        let params = request.get_mut("params").map(Value::take).unwrap_or_default();
        match request.get("method").and_then(Value::as_str) {
            Some("initialize") => self.initialize(&params).map(Reply::Data),
            Some("run") => self.run(params).map(Reply::Observed),
            Some("shutdown") => {
                self.done = true;
                Ok(Reply::Data(json!({})))
            }
            Some(method) => Err(Fault::protocol(NO_METHOD, format!("method {method} is not known; use run"))),
            None => Err(Fault::protocol(BAD_REQUEST, format!("no method: {}", quoted()))),
        }
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, Fault> {
        let end = |name: &str| params["protocol"][name].as_i64().unwrap_or(PROTOCOL);
        let (min, max) = (end("min"), end("max"));
        if !(min..=max).contains(&PROTOCOL) {
            let why = format!("protocol {min} to {max} asked for, {PROTOCOL} spoken; update one side");
            return Err(Fault::protocol(BAD_PARAMS, why));
        }
        self.initialized = true;
        let info = self.implementation.info();
        Ok(json!({
            "protocol": PROTOCOL,
            "implementation": {
                "name": info.name,
                "version": info.version,
                "language": info.language,
                "backend": info.backend,
            },
            "dialect": info.dialect,
            "capabilities": info.capabilities,
        }))
    }

    fn run(&self, mut params: Value) -> Result<Observation, Fault> {
        if !self.initialized {
            return Err(Fault::protocol(BAD_REQUEST, "run before initialize; initialize first"));
        }
        let scenario = params.get_mut("scenario").map(Value::take);
        let scenario = scenario.ok_or_else(|| Fault::protocol(BAD_PARAMS, "params.scenario: is missing"))?;
        Ok(run_scenario(&self.implementation, scenario)?)
    }
}
