public import BLE
import Logging

extension Central.Configuration {
    /// A configuration that logs nothing.
    public static func quiet(
        clock: any Clock<Duration> = ContinuousClock(), pairing: PairingBehaviour = .justWorks
    ) -> Central.Configuration {
        Central.Configuration(
            clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, pairing: pairing)
    }
}
