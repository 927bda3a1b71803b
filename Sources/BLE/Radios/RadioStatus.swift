/// The state of one of a central's radios; see ``Central/radios``.
public struct RadioStatus: Sendable {
    /// The name of the radio.
    public let name: String
    /// The state of its adapter. ``AdapterState/unavailable`` also if it has not started yet.
    public let state: AdapterState
    /// Why it cannot be used: it is missing, off, lost, or has not answered yet. Nil if it is on.
    public let obstacle: BLEError?
    /// Whether it scans, and receives.
    public let isScanning: Bool
    /// Why it receives nothing although it was asked to scan. Nil if it does, or was not asked to.
    public let scanObstacle: BLEError?
    /// Whether it scans, and has heard nothing for longer than a radio should.
    public let isSilent: Bool
    /// The time since it has heard something. Nil if it never has.
    public let age: Duration?
    /// The number of further links that it can make. Nil if it does not say so.
    public let freeSlots: Int?
}
