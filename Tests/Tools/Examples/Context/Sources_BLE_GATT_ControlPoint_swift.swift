private typealias Order = UInt16
private typealias Receipt = UInt32
private enum BrewResult: UInt8, ControlPointResult {
    case success = 1
    var meaning: String? { nil }
}
