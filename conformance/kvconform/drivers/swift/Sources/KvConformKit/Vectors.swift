// Vectors, for your own test runner: a scenario with the answer that is right in some dialects.

import Foundation

public struct Vector {
    public let id: String
    public let scenario: JSON
    let expected: JSON
    let dialects: [String]
    let needs: [String]

    /// Every vector in a folder such as `goldens/vectors`.
    public static func all(in folder: String) throws -> [Vector] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
        return try names.sorted().map { name in
            let file = URL(fileURLWithPath: folder).appendingPathComponent(name)
            return try Vector(JSON(parsing: [UInt8](try Data(contentsOf: file))))
        }
    }

    init(_ json: JSON) throws {
        guard let id = json["id"]?.stringValue, let scenario = json["scenario"], let expected = json["expected"] else {
            throw NotJSON(description: "a vector has an id, a scenario and an expected answer")
        }
        (self.id, self.scenario, self.expected) = (id, scenario, expected)
        dialects = json["dialects"]?.arrayValue?.compactMap(\.stringValue) ?? []
        needs = json["needs"]?.arrayValue?.compactMap(\.stringValue) ?? []
    }

    /// Whether it holds for the dialect, and asks for nothing that is not declared.
    public func applies(to info: Info) -> Bool {
        dialects.contains(info.dialect.stringValue ?? "") && needs.allSatisfy { info.capabilities.meets($0) }
    }

    /// Where an answer is not the expected one; nil when it is. Texts, times and spare capacity are not compared, and
    /// looks at layers only where none may be made. Any error is as good as another but the model's own.
    public func difference(from answer: JSON) -> String? { firstDifference("answer", expected, answer) }
}

extension Capabilities {
    /// Whether something of the form `feature:copy` is declared, or one of several such: `feature:a|feature:b`.
    func meets(_ need: String) -> Bool {
        if need.contains("|") { return need.split(separator: "|").contains { meets(String($0)) } }
        let parts = need.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return false }
        switch parts[0] {
        case "bits": return bits.map(String.init).contains(parts[1])
        case "kind": return kinds.contains(parts[1])
        case "layer": return layers.contains(parts[1])
        case "dtype": return dtypes.contains(parts[1])
        default: return features.contains(parts[1])
        }
    }
}

extension Runner {
    /// The observation of a scenario; a refusal of all of it is an observation too. For your own test runner.
    public func answer(_ scenario: JSON) throws -> JSON {
        do {
            return try run(scenario)
        } catch {
            guard error is Refused || implementation.refuses(error) else { throw error }
            return ["kind": "refused", "message": .string("\(error)")]
        }
    }
}

private let neverCompared = ["message", "nbytes", "prefill_times"]

private func isError(_ record: JSON?) -> Bool {
    guard let error = record?["error"] else { return false }
    return error["kind"]?.stringValue != "model"
}

private func firstDifference(_ place: String, _ wanted: JSON?, _ given: JSON?) -> String? {
    switch (wanted, given) {
    case (.object(let left)?, .object(let right)?):
        for name in (left + right).map(\.name) where !neverCompared.contains(name) {
            if name == "accesses" && wanted?[name] == nil { continue }
            if name == "error" && isError(wanted) && isError(given) { continue }
            if let found = firstDifference("\(place).\(name)", wanted?[name], given?[name]) { return found }
        }
        return nil
    case (.array(let left)?, .array(let right)?) where left.count == right.count:
        for (index, pair) in zip(left, right).enumerated() {
            if let found = firstDifference("\(place)[\(index)]", pair.0, pair.1) { return found }
        }
        return nil
    default:
        let (left, right) = (text(wanted), text(given))
        return left == right ? nil : "\(place) is \(right), expected \(left)"
    }
}

private func text(_ json: JSON?) -> String { String(decoding: (json ?? .null).bytes, as: UTF8.self) }
