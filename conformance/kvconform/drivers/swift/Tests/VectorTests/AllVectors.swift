// Every vector that is about what the driver declares, asked through the kit.
import Foundation
import KvConformKit
import Testing

@testable import ExampleDriver

@Test func everyVectorIsAnsweredAsExpected() throws {
    let folder = try #require(ProcessInfo.processInfo.environment["KVCONFORM_VECTORS"])
    let runner = Runner(Driver())
    let vectors = try Vector.all(in: folder).filter { $0.applies(to: runner.info) }
    #expect(!vectors.isEmpty)
    for vector in vectors {
        let difference = vector.difference(from: try runner.answer(vector.scenario))
        #expect(difference == nil, "\(vector.id)")
    }
}
