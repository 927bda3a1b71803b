import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport

extension BlueZWorld {
    /// The tool on this bus.
    ///
    /// - Parameters:
    ///   - timeout: of everything that it waits for, in seconds.
    ///   - input: its standard input.
    ///   - time: the clock that it uses.
    func ble(
        _ arguments: String..., timeout: Double = Double(HangLimit.stepSeconds), input: String = "",
        time: Tool.Time = .real
    ) -> Tool {
        ble(arguments, timeout: timeout, input: input, time: time)
    }

    func ble(
        _ arguments: [String], timeout: Double = Double(HangLimit.stepSeconds), input: String = "",
        time: Tool.Time = .real
    ) -> Tool {
        Tool(arguments + ["--bus", bus.address, "--timeout", "\(timeout)"], input: input, time: time)
    }
}
