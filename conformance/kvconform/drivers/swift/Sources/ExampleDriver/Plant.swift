// Faults planted on purpose: KVCONFORM_PLANT=NAME makes the example wrong in one decision, to see that the suite
// notices. An implementation of your own needs nothing like this.

import Foundation

enum Plant: String {
    case tieHigh = "tie-high"
    case convertRotating = "convert-rotating"
    case quantizeTwice = "quantize-twice"
    case limitOffByOne = "limit-off-by-one"

    static let chosen = ProcessInfo.processInfo.environment["KVCONFORM_PLANT"].flatMap(Plant.init)
}

func planted(_ fault: Plant) -> Bool { Plant.chosen == fault }
