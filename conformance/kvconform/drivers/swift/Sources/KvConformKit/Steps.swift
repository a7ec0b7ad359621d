// What the parts of a scenario say that are done one after the other, read before anything is built.

/// One operation of a `cache` scenario.
enum Operation {
    case append(rows: Int, salt: Int)
    case trim(rows: Int)
    case convert(bits: Int, groupSize: Int)
    case copy, saveAndLoad, state, dropFront
    case select(cache: Int)

    init(_ json: JSON) throws {
        var fields = try Fields(json, "operation")
        let names = ["append", "trim", "convert", "copy", "save-load", "state", "drop-front", "select"]
        switch try fields.neededChoice("op", names) {
        case "append":
            self = .append(
                rows: try fields.neededInt("rows", Bounds.positive), salt: try fields.int("salt", 0, Bounds.count))
        case "trim": self = .trim(rows: try fields.neededInt("rows"))
        case "convert":
            self = .convert(bits: try fields.neededInt("bits"), groupSize: try fields.int("group_size", 64))
        case "copy": self = .copy
        case "save-load": self = .saveAndLoad
        case "state": self = .state
        case "drop-front": self = .dropFront
        default: self = .select(cache: try fields.neededInt("cache", Bounds.count))
        }
        try fields.done()
    }
}

/// One step of a `container` scenario; no `layers` means all of them.
enum Step {
    case append(rows: Int, salt: Int, layers: [Int]?, throughCaller: Bool)
    case trim(rows: Int, layers: [Int]?)
    case dropFront
    case pass(bits: Int?, groupSize: Int, start: Int)

    init(_ json: JSON) throws {
        var fields = try Fields(json, "step")
        switch try fields.neededChoice("do", ["append", "trim", "drop-front", "pass"]) {
        case "append":
            self = .append(
                rows: try fields.neededInt("rows", Bounds.positive), salt: try fields.int("salt", 0, Bounds.count),
                layers: try fields.counts("layers"),
                throughCaller: try fields.choice("through", ["container", "caller"]) == "caller")
        case "trim": self = .trim(rows: try fields.neededInt("rows"), layers: try fields.counts("layers"))
        case "drop-front": self = .dropFront
        default:
            self = .pass(
                bits: try fields.maybe("bits"), groupSize: try fields.int("group_size", 64),
                start: try fields.int("start", 0))
        }
        try fields.done()
    }
}

/// One turn of an `iterate` scenario.
struct Turn {
    let promptLength: Int
    let promptSeed: Int
    let parameters: Parameters
    /// `general`, `sampler-first` or `prompt-array`.
    let form: String
    let callerList: Bool
    let boosted: Bool
    /// `parameters`, `argmax` or `argmin`.
    let sampler: String
    let nexts: Int

    init(_ json: JSON) throws {
        var fields = try Fields(json, "turn")
        var prompt = try Fields(try fields.need("prompt"), "prompt")
        promptLength = try prompt.neededInt("length", Bounds.count)
        promptSeed = try prompt.int("seed", 0, Bounds.count)
        try prompt.done()
        parameters = try Parameters(fields.find("parameters"))
        form = try fields.choice("form", ["general", "sampler-first", "prompt-array"])
        callerList = try fields.choice("cache", ["same", "caller-list"]) == "caller-list"
        boosted = try fields.choice("processor", ["none", "boost"]) == "boost"
        sampler = try fields.choice("sampler", ["parameters", "argmax", "argmin"])
        nexts = try fields.int("nexts", 1, Bounds.count)
        try fields.done()
    }
}

/// How the scripted model behaves.
struct Script {
    var seed = 0
    var vocab = 61
    /// `tokens`, `logits`, `all` or `raise`.
    var prepare = "tokens"
    /// `none`, `always` or `alternate`.
    var state = "none"
    var ties = false

    init(_ json: JSON?) throws {
        guard let json else { return }
        var fields = try Fields(json, "model")
        seed = try fields.int("seed", seed, Bounds.count)
        vocab = try fields.int("vocab", vocab, 2...65536)
        prepare = try fields.choice("prepare", ["tokens", "logits", "all", "raise"])
        state = try fields.choice("state", ["none", "always", "alternate"])
        ties = try fields.flag("ties")
        try fields.done()
    }
}
