// What you fill in. Every function has a default that answers "unsupported": write those that you have, and declare
// in `info` only what you have.

// MARK: - Errors

/// Bad input, refused before anything changed.
public struct Refused: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// The implementation has no such concept; the whole scenario is then answered as unsupported.
public struct Unsupported: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// The scripted model's own error: let it pass through the iterator.
public struct PrepareFailed: Error, CustomStringConvertible {
    public var description: String { "scripted prepare failed" }
}

/// The model was called in a way that no model understands.
public struct ModelMisused: Error, CustomStringConvertible {
    public let description: String
}

// MARK: - Who you are

/// What you declare; the names are those of the contract.
public struct Capabilities {
    public var kinds: [String]
    public var bits = [2, 3, 4, 5, 6, 8]
    public var groupSizes = [32, 64, 128]
    public var dtypes = ["float32", "float16", "bfloat16"]
    public var layers: [String]
    public var features: [String]

    public init(kinds: [String], layers: [String], features: [String]) {
        self.kinds = kinds
        self.layers = layers
        self.features = features
    }
}

public struct Info {
    public var name: String
    public var version: String
    public var language = "Swift"
    public var backend = "cpu"
    /// A named dialect, or an object with all parameters.
    public var dialect: JSON = "proposal"
    public var capabilities: Capabilities

    public init(name: String, version: String, capabilities: Capabilities) {
        self.name = name
        self.version = version
        self.capabilities = capabilities
    }
}

// MARK: - What goes in and out

/// A cache list that somebody keeps, so that it can be changed in place.
public final class CacheList<Cache: AnyObject> {
    public var layers: [Cache]
    public init(_ layers: [Cache]) { self.layers = layers }
}

/// What came back from a file or a state.
public struct Exported<Cache: AnyObject> {
    public var cache: Cache
    /// Rows stored in an exported array; nil for recurrent and composite caches.
    public var rows: Int?

    public init(cache: Cache, rows: Int?) {
        self.cache = cache
        self.rows = rows
    }
}

/// What the pass without memory gives: whether it triggered, and the new list if the design returns one.
public struct FreePass<Cache: AnyObject> {
    public var returned: Bool?
    public var list: CacheList<Cache>?

    public init(returned: Bool?, list: CacheList<Cache>? = nil) {
        self.returned = returned
        self.list = list
    }
}

/// For an implementation without containers or iterators.
public final class Nothing {}

// MARK: - The protocol

/// The implementation under test. `Cache`, `Container` and `Iterator` are your own classes, or classes of yours
/// around your own types; identity is that of the object.
public protocol Implementation: AnyObject {
    associatedtype Cache: AnyObject
    associatedtype Container: AnyObject = Nothing
    associatedtype Iterator: AnyObject = Nothing

    var info: Info { get }

    /// Whether an error is a clear refusal of bad input; every other one is an internal error.
    func refuses(_ error: any Error) -> Bool

    // ---- resolve, quantize

    /// The group size used for these head dims, or nil.
    func groupSize(requested: Int, keyDim: Int, valueDim: Int) throws -> Int?
    func headDims(of cache: Cache) throws -> (key: Int, value: Int)?
    func isQuantizable(_ cache: Cache) throws -> Bool
    func isCompatible(_ cache: Cache) throws -> Bool
    /// The rows of a `[rows, dim]` tensor, quantized along the last axis.
    func quantize(_ tensor: Tensor, bits: Int, groupSize: Int) throws -> Packed

    // ---- caches

    /// An empty cache of the layer's kind and parameters; a composite gets its children.
    func makeCache(_ layer: Layer, children: [Cache]) throws -> Cache
    /// Write the rows behind the offset; how many rows a reader gets back from that very write.
    func append(_ rows: PatternRows, to cache: Cache) throws -> Int
    /// Take rows off the end; how many were taken, 0 where it cannot be trimmed.
    func trim(_ cache: Cache, rows: Int) throws -> Int
    /// Chunked: drop the rows beyond the chunk size at the front. Others refuse.
    func dropFront(of cache: Cache) throws
    /// Recurrent: replace all slots by new arrays.
    func replaceState(of cache: Cache, by arrays: [[Float]]) throws
    /// What the cache shows. Also asked, without content and accounting, for signatures.
    func look(at cache: Cache, observing observe: Observe) throws -> Look<Cache>
    /// Convert one cache directly.
    func convert(_ cache: Cache, bits: Int, groupSize: Int) throws -> Cache
    func copy(_ cache: Cache) throws -> Cache
    func saveAndLoad(_ cache: Cache) throws -> Exported<Cache>
    func stateRoundTrip(_ cache: Cache) throws -> Exported<Cache>

    // ---- the pass

    /// One pass without memory, on the list.
    func freePass(_ list: CacheList<Cache>, bits: Int?, groupSize: Int, start: Int) throws -> FreePass<Cache>
    /// A container over the caller's list.
    func makeContainer(over list: CacheList<Cache>, built: Built) throws -> Container
    /// A container over the list that the model makes: ask it with `model.newCache()`.
    func makeContainer(asking model: ScriptedModel<Cache>, built: Built) throws -> Container
    func layers(of container: Container) throws -> [Cache]
    func runPass(_ container: Container, bits: Int?, groupSize: Int, start: Int) throws
    /// How many looks at layers were counted so far; only differences matter.
    func accesses() throws -> Int

    // ---- the iterator

    func makeIterator(_ request: Request<Cache, Container>) throws -> Iterator
    func next(_ iterator: Iterator) throws -> Int?
    func container(of iterator: Iterator) throws -> Container
    func count(of iterator: Iterator) -> Int?
    /// Seconds.
    func prefillTime(of iterator: Iterator) -> Double?
}

extension Implementation {
    private func no(_ what: String) -> Unsupported { Unsupported("this driver has no \(what)") }

    public func refuses(_ error: any Error) -> Bool { error is Refused }

    public func groupSize(requested: Int, keyDim: Int, valueDim: Int) throws -> Int? { throw no("group-size resolver") }
    public func headDims(of cache: Cache) throws -> (key: Int, value: Int)? { throw no("layer queries") }
    public func isQuantizable(_ cache: Cache) throws -> Bool { throw no("layer queries") }
    public func isCompatible(_ cache: Cache) throws -> Bool { throw no("layer queries") }
    public func quantize(_ tensor: Tensor, bits: Int, groupSize: Int) throws -> Packed { throw no("quantization") }

    public func makeCache(_ layer: Layer, children: [Cache]) throws -> Cache { throw no("caches") }
    public func append(_ rows: PatternRows, to cache: Cache) throws -> Int { throw no("append") }
    public func trim(_ cache: Cache, rows: Int) throws -> Int { throw no("trim") }
    public func dropFront(of cache: Cache) throws { throw no("drop-front") }
    public func replaceState(of cache: Cache, by arrays: [[Float]]) throws { throw no("recurrent state") }
    public func look(at cache: Cache, observing observe: Observe) throws -> Look<Cache> { throw no("looks") }
    public func convert(_ cache: Cache, bits: Int, groupSize: Int) throws -> Cache { throw no("direct conversion") }
    public func copy(_ cache: Cache) throws -> Cache { throw no("copies") }
    public func saveAndLoad(_ cache: Cache) throws -> Exported<Cache> { throw no("saving") }
    public func stateRoundTrip(_ cache: Cache) throws -> Exported<Cache> { throw no("states") }

    public func freePass(_ list: CacheList<Cache>, bits: Int?, groupSize: Int, start: Int) throws -> FreePass<Cache> {
        throw no("free pass")
    }
    public func makeContainer(over list: CacheList<Cache>, built: Built) throws -> Container { throw no("container") }
    public func makeContainer(asking model: ScriptedModel<Cache>, built: Built) throws -> Container {
        throw no("container over a model's list")
    }
    public func layers(of container: Container) throws -> [Cache] { throw no("container") }
    public func runPass(_ container: Container, bits: Int?, groupSize: Int, start: Int) throws { throw no("container") }
    public func accesses() throws -> Int { throw no("count of looks at layers") }

    public func makeIterator(_ request: Request<Cache, Container>) throws -> Iterator { throw no("token iterator") }
    public func next(_ iterator: Iterator) throws -> Int? { throw no("token iterator") }
    public func container(of iterator: Iterator) throws -> Container { throw no("container of an iterator") }
    public func count(of iterator: Iterator) -> Int? { nil }
    public func prefillTime(of iterator: Iterator) -> Double? { nil }
}
