public import BLE

/// What a stack makes of a fault of the simulated radio below it, where stacks differ. By default, that of the
/// simulation's own backends.
public struct FaultFacts: Sendable {
    /// Whether the backend repeats an attempt to connect that fails before there is a link.
    public var repeatsAttempts = false
    /// The error of an attempt to connect whose link is lost as soon as it is made.
    public var lostAttempt = BLEError.Code.disconnected
    /// The error of an attempt to connect that a lost link prevents.
    public var preventedAttempt = BLEError.Code.failed
    /// The error of a connect whose services cannot be discovered. Nil if the peripheral then has no services.
    public var failedDiscovery: BLEError.Code? = .serviceDiscoveryFailed
    /// The error of a disconnect that fails. Nil if it has no answer before the link ends.
    public var failedDisconnection: BLEError.Code? = .disconnectionFailed
    /// Whether a scan, a registration or advertising that the controller does not answer fails with `timedOut`. False
    /// if it fails as one that is refused.
    public var tellsSilence = true
    /// The error of a scan that a lost link prevents.
    public var preventedScan = BLEError.Code.failed
    /// The error of advertising that the controller refuses.
    public var failedAdvertising = BLEError.Code.failed
    /// Whether the signal strength of links can be asked for.
    public var measuresLinks = true

    /// Those of the simulation's own backends.
    public init() {}

    /// Those of bluetoothd, with this package's backend.
    public static var bluetoothd: FaultFacts {
        var facts = FaultFacts()
        facts.repeatsAttempts = true
        // `device_remove_connection` in its `src/device.c` has the reason of a disconnect.
        facts.lostAttempt = .connectionCancelled
        facts.preventedAttempt = .connectionFailed
        // The services are resolved even if their discovery has failed (`device_svc_resolved` in its `src/device.c`).
        facts.failedDiscovery = nil
        // Only the end of the link answers (`device_request_disconnect` in the same file).
        facts.failedDisconnection = nil
        facts.tellsSilence = false
        facts.preventedScan = .scanFailed
        // The same answer as for advertising that it does not accept.
        facts.failedAdvertising = .invalidArgument
        facts.measuresLinks = false
        return facts
    }
}
