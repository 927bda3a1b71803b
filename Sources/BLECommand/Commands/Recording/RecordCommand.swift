import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions
import Synchronization

struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Write a definition of a peripheral, for ble serve and ble fake.",
        discussion: """
            Reads all readable characteristics and descriptors, and writes JSON (Docs/Peripherals.md): the \
            peripheral's advertisement, its services and their values. With --listen, the values that it notifies, too.

                ble record Strap >strap.json; ble fake --peripheral strap.json -- pytest
            """)

    @OptionGroup var options: CommonOptions

    @Option(
        help: ArgumentHelp("Subscribe to everything, and take the values of that time.", valueName: "seconds"))
    var listen = 0.0

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    func validate() throws {
        guard (0...3600).contains(listen) else {
            throw ValidationError("--listen is a number of seconds, at most 3600.")
        }
    }

    func run() async throws {
        let (id, timeout, listen) = (id, options.timeoutDuration, listen)
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            // Before the link: bluetoothd adds the services that it discovers.
            let known = await central.knownPeripherals().first { $0.id == peripheral.id }
            let services = try await output.progress.during("Connecting to \(peripheral)") {
                try await peripheral.services()
            }
            // A definition has no services that the system serves itself.
            let database = GATTDatabase(
                services: services.filter { !ServeCommand.limits.reservedServices.contains($0.uuid) })
            var portrait = Portrait(advertisement: known?.advertisement ?? Advertisement(), database: database)
            for characteristic in database.joined() {
                try await portrait.read(characteristic, of: peripheral, output)
            }
            if listen > 0 { try await portrait.listen(to: peripheral, for: .seconds(listen), output) }
            try output.bytes(Array((portrait.json.indented + "\n").utf8))
        }
    }
}

/// What was found out about a peripheral.
private struct Portrait {
    let advertisement: Advertisement
    let database: GATTDatabase
    /// The types of the services, by handle.
    private let types: [UInt16: BluetoothUUID]
    /// By handle.
    private var values: [UInt16: [UInt8]] = [:]
    private var security: [UInt16: String] = [:]
    private var notified: [UInt16: [[UInt8]]] = [:]
    private var seconds = 0.0

    init(advertisement: Advertisement, database: GATTDatabase) {
        self.advertisement = advertisement
        self.database = database
        types = Dictionary(database.map { ($0.handle, $0.uuid) }) { first, _ in first }
    }

    // MARK: Finding out

    mutating func read(
        _ characteristic: GATTCharacteristic, of peripheral: Peripheral, _ output: Output
    ) async throws {
        if characteristic.properties.contains(.read) {
            let key = characteristic.key.bytes
            try await take(characteristic.handle, characteristic.uuid, output) { () throws(BLEError) in
                try await peripheral.read(key)
            }
        }
        for descriptor in characteristic.descriptors where !Self.automatic.contains(descriptor.uuid) {
            let attribute = CharacteristicArgument.Attribute(
                key: characteristic.key, descriptor: (descriptor.uuid, descriptor.handle))
            try await take(descriptor.handle, descriptor.uuid, output) { () throws(BLEError) in
                try await attribute.read(of: peripheral)
            }
        }
    }

    /// The descriptors that a definition has by itself.
    private static let automatic: Set<BluetoothUUID> = [BluetoothUUID(0x2900), BluetoothUUID(0x2902)]

    private mutating func take(
        _ handle: UInt16, _ uuid: BluetoothUUID, _ output: Output,
        _ read: @Sendable () async throws(BLEError) -> [UInt8]
    ) async throws {
        let result: Result<[UInt8], BLEError> = try await output.progress.during("Reading \(uuid)") {
            do throws(BLEError) {
                return .success(try await read())
            } catch {
                // Without a link, everything else would fail, too, or be read on another.
                if [.disconnected, .bluetoothLost, .cancelled, .poweredOff].contains(error.code) { throw error }
                return .failure(error)
            }
        }
        switch result {
        case .success(let value): values[handle] = value
        case .failure(let error):
            output.note("\(uuid) could not be read: \(error.message)")
            if error.code == .pairingRequired {
                security[handle] = error.attError == .insufficientAuthentication ? "authenticated" : "encrypted"
            }
        }
    }

    mutating func listen(to peripheral: Peripheral, for duration: Duration, _ output: Output) async throws {
        let keys = database.joined()
            .filter { !$0.properties.isDisjoint(with: [.notify, .indicate]) }
            .map { (handle: $0.handle, key: $0.key.bytes) }
        let heard = Heard()
        await output.progress.during("Listening", limit: duration) {
            await withTaskGroup(of: Bool.self) { group in
                for (handle, key) in keys {
                    group.addTask {
                        do throws(BLEError) {
                            try await heard.take(peripheral.notifications(key), of: handle)
                        } catch {
                            if error.code != .cancelled { output.note("\(key): \(error.message)") }
                        }
                        return false
                    }
                }
                group.addTask {
                    try? await CommandClock.sleep(for: duration)
                    return true
                }
                for await isOver in group where isOver { group.cancelAll() }
            }
        }
        try Task.checkCancellation()
        notified = heard.values.withLock { $0 }
        seconds = duration / .seconds(1)
    }

    // MARK: JSON

    var json: JSON {
        var object: [String: JSON] = ["services": .array(database.map { json($0) })]
        object["name"] = advertisement.localName.map(JSON.string)
        let listed = advertisement.serviceUUIDs.sorted()
        object["advertisedServices"] = .array(listed.map { .string("\($0)") })
        object["appearance"] = advertisement.appearance.map { .int(Int($0.rawValue)) }
        object["txPower"] = advertisement.txPower.flatMap { -127...20 ~= $0 ? .int($0) : nil }
        if !advertisement.manufacturerData.isEmpty {
            object["manufacturerData"] = .object(
                Dictionary(
                    uniqueKeysWithValues: advertisement.manufacturerData.map {
                        (Hex.string([UInt8($0.key >> 8), UInt8($0.key & 0xFF)]), .hex($0.value))
                    }))
        }
        if !advertisement.serviceData.isEmpty {
            object["serviceData"] = .object(
                Dictionary(
                    uniqueKeysWithValues: advertisement.serviceData.map { ("\($0.key)", .hex($0.value)) }))
        }
        return .object(object)
    }

    private func json(_ service: GATTService) -> JSON {
        var object: [String: JSON] = [
            "uuid": .string("\(service.uuid)"), "characteristics": .array(service.map { json($0) }),
        ]
        if !service.isPrimary { object["isPrimary"] = .bool(false) }
        let included = service.includedHandles.compactMap { types[$0] }
        if !included.isEmpty { object["includes"] = .array(included.map { .string("\($0)") }) }
        return .object(object)
    }

    private func json(_ characteristic: GATTCharacteristic) -> JSON {
        let properties = CharacteristicProperties.names.filter {
            $0.property != .extendedProperties && characteristic.properties.contains($0.property)
        }
        var object: [String: JSON] = [
            "uuid": .string("\(characteristic.uuid)"), "properties": .array(properties.map { .string($0.name) }),
        ]
        object["security"] = security[characteristic.handle].map(JSON.string)
        if let values = notified[characteristic.handle] {
            object["values"] = .array(values.map(JSON.hex))
            // With a digit more than a person would notice.
            object["every"] = .double(max((seconds / Double(values.count) * 100).rounded() / 100, 0.01))
        } else if let value = values[characteristic.handle] {
            object["value"] = .hex(value)
        }
        let descriptors = characteristic.descriptors.filter { !Self.automatic.contains($0.uuid) }
        if !descriptors.isEmpty {
            object["descriptors"] = .array(
                descriptors.map { descriptor in
                    var object: [String: JSON] = ["uuid": .string("\(descriptor.uuid)")]
                    object["value"] = values[descriptor.handle].map(JSON.hex)
                    return .object(object)
                })
        }
        return .object(object)
    }
}

/// The values that were notified, by handle.
private final class Heard: Sendable {
    let values = Mutex<[UInt16: [[UInt8]]]>([:])

    /// The number of values that are taken from each characteristic.
    private static let maximumCount = 1000

    func take(_ stream: NotificationStream<[UInt8]>, of handle: UInt16) async throws(BLEError) {
        for try await value in stream {
            let count = values.withLock { values in
                values[handle, default: []].append(value)
                return values[handle, default: []].count
            }
            if count == Self.maximumCount { return }
        }
    }
}
