import ArgumentParser
import BLE
import BLEDefinitions
import BLEProfiles

struct BatteryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "battery", abstract: "Show the level of a peripheral's battery or batteries.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String?

    func run() async throws {
        let (id, timeout) = (id, options.timeoutDuration)
        try await Session.run(options) { central, output in
            let finder = Finder(central: central, output: output, timeout: timeout)
            let peripheral = try await finder.find(id, offering: .battery)
            let batteries = try await output.progress.during("Reading the battery of \(peripheral)") {
                try await Self.read(peripheral)
            }
            for (index, (position, level)) in batteries.enumerated() {
                let name = position.map { "\($0)" }
                try output.about(peripheral).line(
                    .object(["level": .int(Int(level)), "position": .optional(name) { .string($0) }]),
                    (batteries.count > 1 ? (name ?? "battery \(index + 1)").padded(to: 12) : "") + "\(level) %")
            }
        }
    }

    /// Returns the position, if known, and the level of each battery of a peripheral.
    private static func read(
        _ peripheral: Peripheral
    ) async throws(BLEError) -> [(PresentationFormat.Description?, UInt8)] {
        let batteries = try await Battery.all(on: peripheral)
        var levels: [(PresentationFormat.Description?, UInt8)] = []
        for battery in batteries { levels.append((try await position(of: battery), try await battery.level())) }
        guard !levels.isEmpty else { return [(nil, try await Battery(peripheral).level())] }
        return levels
    }

    /// Returns the position of a battery. Nil if it is unknown, refused or invalid.
    private static func position(of battery: Battery) async throws(BLEError) -> PresentationFormat.Description? {
        let position = try await Result(of: battery.peripheral) { () throws(BLEError) in try await battery.position() }
        guard case .success(let position?) = position, position != .unknown else { return nil }
        return position
    }
}
