// The wire: requests on stdin, answers on stdout, one JSON object a line.

import Foundation

/// The codes of errors.
enum Code: Int {
    case refused = -32001
    case unsupported = -32002
    case internalError = -32603
    case notJSON = -32700
    case badRequest = -32600
    case noMethod = -32601
    case badParams = -32602

    var kind: JSON {
        switch self {
        case .refused: "refused"
        case .unsupported: "unsupported"
        case .internalError: "internal"
        default: "protocol"
        }
    }
}

/// A request that is not one.
struct BadRequest: Error, CustomStringConvertible {
    let code: Code
    let message: String
    var description: String { message }
}

/// One connection: what has been agreed on, and the answer to each line.
public final class Server<I: Implementation> {
    public private(set) var done = false
    private let runner: Runner<I>
    private var initialized = false

    public init(_ implementation: I) { runner = Runner(implementation) }

    /// The line that answers a line, whatever that is.
    public func answer(_ line: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var id = JSON.null
        do {
            let request = try JSON(parsing: line)
            guard request["jsonrpc"]?.stringValue == "2.0", let method = request["method"]?.stringValue else {
                throw BadRequest(
                    code: .badRequest, message: "not a request: \(String(decoding: line.prefix(200), as: UTF8.self))")
            }
            id = request["id"] ?? .null
            let result = try handle(method, request["params"] ?? [:])
            return text(["jsonrpc": "2.0", "id": id, "result": result])
        } catch let error as NotJSON {
            return failure(id, .notJSON, error)
        } catch let error as BadRequest {
            return failure(id, error.code, error)
        } catch let error as Unsupported {
            return failure(id, .unsupported, error)
        } catch {
            let refused = error is Refused || runner.implementation.refuses(error)
            return failure(id, refused ? .refused : .internalError, error)
        }
    }

    private func handle(_ method: String, _ params: JSON) throws -> JSON {
        switch method {
        case "initialize": return try initialize(params)
        case "shutdown":
            done = true
            return [:]
        case "run":
            guard initialized else { throw BadRequest(code: .badRequest, message: "run before initialize") }
            guard let scenario = params["scenario"] else { throw BadRequest(code: .badParams, message: "no scenario") }
            return try runner.run(scenario)
        default: throw BadRequest(code: .noMethod, message: "no such method; there are initialize, run and shutdown")
        }
    }

    private func initialize(_ params: JSON) throws -> JSON {
        let range = params["protocol"]
        if range?["min"]?.intValue ?? 1 > 1 || range?["max"]?.intValue ?? 1 < 1 {
            throw BadRequest(code: .badParams, message: "this kit speaks protocol 1; update the older side")
        }
        initialized = true
        let info = runner.info
        let can = info.capabilities
        return [
            "protocol": .int(1),
            "implementation": [
                "name": .string(info.name), "version": .string(info.version), "language": .string(info.language),
                "backend": .string(info.backend),
            ],
            "dialect": info.dialect,
            "capabilities": [
                "kinds": .strings(can.kinds), "bits": .ints(can.bits), "group_sizes": .ints(can.groupSizes),
                "dtypes": .strings(can.dtypes), "layers": .strings(can.layers), "features": .strings(can.features),
            ],
        ]
    }

    private func failure(_ id: JSON, _ code: Code, _ error: any Error) -> [UInt8] {
        let data: JSON = ["kind": code.kind]
        let failure: JSON = ["code": .int(code.rawValue), "message": .string("\(error)"), "data": data]
        return text(["jsonrpc": "2.0", "id": id, "error": failure])
    }

    private func text(_ message: JSON) -> [UInt8] {
        var line = message.bytes
        line.append(0x0A)
        return line
    }
}

/// Answers requests on stdin until `shutdown` or its end; the exit status. stdout belongs to the answers: what
/// anything else prints goes to stderr from here on.
public func serve<I: Implementation>(_ implementation: I) -> Int32 {
    let server = Server(implementation)
    let answers = dup(STDOUT_FILENO)
    dup2(STDERR_FILENO, STDOUT_FILENO)
    var pending: [UInt8] = []
    var searched = 0
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while !server.done {
        if let end = pending[searched...].firstIndex(of: 0x0A) {
            let answer = pending[..<end].withUnsafeBufferPointer { server.answer($0) }
            pending.removeSubrange(...end)
            searched = 0
            if !write(all: answer, to: answers) { return 0 }
            continue
        }
        searched = pending.count
        let count = read(STDIN_FILENO, &chunk, chunk.count)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return 0 }
        pending += chunk[..<count]
    }
    return 0
}

/// False when nobody reads any more.
private func write(all bytes: [UInt8], to file: Int32) -> Bool {
    var written = 0
    while written < bytes.count {
        let count = bytes[written...].withUnsafeBufferPointer { write(file, $0.baseAddress, $0.count) }
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return false }
        written += count
    }
    return true
}
