// Vectors read without the kit: the group sizes of one dialect.
import Foundation
import Testing

@testable import ExampleDriver  // your own

private struct Vector: Decodable {
    struct Scenario: Decodable { let requested: Int?, key_dim: Int?, value_dim: Int? }
    struct Expected: Decodable { let kind: String, group_size: Int? }
    let id: String, dialects: [String], scenario: Scenario, expected: Expected
}

@Test func groupSizesAreThoseOfTheVectors() throws {
    let folder = URL(fileURLWithPath: try #require(ProcessInfo.processInfo.environment["KVCONFORM_VECTORS"]))
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
    for name in names {
        let vector = try JSONDecoder().decode(Vector.self, from: Data(contentsOf: folder.appending(path: name)))
        let asks = vector.scenario
        guard vector.dialects.contains("proposal"), vector.expected.kind == "resolve" else { continue }
        guard let requested = asks.requested, let key = asks.key_dim, let value = asks.value_dim else { continue }
        let size = try resolveGroupSize(requested, keyDim: key, valueDim: value)
        #expect(size == vector.expected.group_size, "\(vector.id)")
    }
}
