public import BLE
import Logging

extension Central.Configuration {
    /// A configuration that logs nothing, for a central in virtual time.
    public static func quiet(
        clock: any Clock<Duration>, pairing: PairingBehavior = .justWorks
    ) -> Central.Configuration {
        Central.Configuration(clock: clock, logger: .quiet, pairing: pairing)
    }

    /// A configuration that logs nothing, for a central in real time, whose timeouts only a hang reaches.
    public static func quiet(pairing: PairingBehavior = .justWorks) -> Central.Configuration {
        Central.Configuration(
            connectTimeout: HangLimit.step, operationTimeout: HangLimit.step, logger: .quiet, pairing: pairing)
    }
}

extension PeripheralHost.Configuration {
    /// A configuration that logs nothing, whose timeouts only a hang reaches.
    public static func quiet(pairing: PairingAgent? = nil) -> PeripheralHost.Configuration {
        PeripheralHost.Configuration(
            requestTimeout: HangLimit.step, confirmationTimeout: HangLimit.step, pairing: pairing, logger: .quiet)
    }
}

extension Logger {
    fileprivate static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}
