import ArgumentParser
import BLE

/// The command `ble`: Bluetooth LE from the command line.
@main
struct BLECommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ble",
        abstract: "Bluetooth LE from the command line.",
        discussion: """
            ID is a device address or the beginning of a name that only one peripheral in range has; without ID the first \
            peripheral that offers the service is taken. UUIDs may have 16, 32 or 128 bits or be the SIG's name, such as \
            battery-level. Data goes to standard output, everything else to standard error.

            Exit status:
            \(ExitStatus.table)

            Completions for the shell: ble --generate-completion-script bash > ~/.local/share/bash-completion/completions/ble
            """,
        version: Central.version,
        subcommands: [
            AdaptersCommand.self, DoctorCommand.self, ScanCommand.self, InspectCommand.self, ReadCommand.self,
            WriteCommand.self,
            NotifyCommand.self, ChannelCommand.self, ConnectCommand.self, ProfileCommand.self, HeartRateCommand.self,
            BatteryCommand.self,
            InfoCommand.self,
            PairCommand.self, UnpairCommand.self, ServeCommand.self, AdvertiseCommand.self, NumbersCommand.self,
        ] + deviceCommands)

    /// The commands that require `BLEFeatures`, and therefore swift-crypto, which takes longer to build than everything
    /// else.
    #if DeviceCommands
        private static let deviceCommands: [any ParsableCommand.Type] = [DevicesCommand.self, DemoCommand.self]
    #else
        private static let deviceCommands: [any ParsableCommand.Type] = []
    #endif
}
