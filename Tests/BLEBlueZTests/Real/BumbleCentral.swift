import BLE
import BlueZTestSupport
import Foundation

/// A central on an independent stack, in reach of the guest's adapter: `central N …` of the peer
/// (Scripts/guest/peer/central_commands.py).
///
/// It is a backend, so that the checks of the peripheral role can use a `Central` on it.
actor BumbleCentral: CentralBackend {
    /// 1 or 2.
    private let number: Int
    private let peer = RealPeer()
    private var context: CentralContext?
    private var scan: Task<Void, Never>?
    private var heard: [Peripheral.ID: Advertisement] = [:]
    private var link: Link?
    /// The number of channels that are being opened, and the packets that have arrived on them.
    private var openings = 0
    private var early: [Event] = []

    private struct Link {
        let id: Peripheral.ID
        let events: Task<Void, Never>
        /// The handle of each characteristic's value, by that of its declaration.
        var values: [UInt16: UInt16] = [:]
        var deliveries: [UInt16: @Sendable ([UInt8]) -> Void] = [:]
        var serviceChanged: UInt16?
        var channels: [Int: BumbleChannel] = [:]
    }

    private struct Service: Decodable {
        struct Included: Decodable { let handle: UInt16 }
        struct Descriptor: Decodable { let uuid: String, handle: UInt16 }
        struct Characteristic: Decodable {
            let uuid: String, declaration: UInt16, handle: UInt16, properties: UInt16
            let descriptors: [Descriptor]
        }
        let uuid: String, handle: UInt16, primary: Bool
        let includes: [Included]
        let characteristics: [Characteristic]
    }

    private struct Event: Decodable {
        let event: String, handle: UInt16?, value: String?, reason: Int?, channel: Int?
    }
    private struct Opened: Decodable { let channel: Int, mtu: Int }
    private struct Report: Decodable { let address: String, type: String, data: String }

    init(_ number: Int) { self.number = number }

    // MARK: The peer

    @discardableResult private func ask(_ command: String) async throws(BLEError) -> String {
        do {
            return try await peer.ask("central \(number) \(command)")
        } catch let failure as RealPeer.Failure {
            let words = failure.answer.split(separator: " ")
            if words.count > 2, words[1] == "ATT", let code = UInt8(words[2].dropFirst(2), radix: 16) {
                throw BLEError(ATTError(rawValue: code))
            }
            if words.count > 1, words[1] == "refused" {
                throw BLEError(.channelRefused, failure.answer, isRetryable: false)
            }
            throw BLEError(failure.answer.contains("LinkEnded") ? .disconnected : .failed, failure.answer)
        } catch {
            throw BLEError(.failed, "\(error)")
        }
    }

    private func decode<Value: Decodable>(_ answer: String) throws(BLEError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(answer.utf8))
        } catch {
            throw BLEError(.failed, "\(answer): \(error)")
        }
    }

    private func spell(_ value: [UInt8]) -> String { value.isEmpty ? "-" : Hex.string(value) }
    private func bytes(_ answer: String) -> [UInt8] { answer == "-" ? [] : Hex.bytes(answer) ?? [] }

    // MARK: Starting and stopping

    func start(_ context: CentralContext) async throws(BLEError) {
        self.context = context
        try await ask("reset")
    }

    func shutDown() async {
        try? await stopDiscovery()
        if let ended = link {
            link = nil
            ended.events.cancel()
            for channel in ended.channels.values { channel.end(.shutDown) }
        }
        _ = try? await ask("reset")
    }

    func adapterState() -> AdapterState { .poweredOn }
    func adapters() async throws(BLEError) -> [Adapter] { [] }

    // MARK: Scanning

    func knownPeripherals() -> [KnownPeripheral] {
        heard.map { KnownPeripheral(id: $0.key, advertisement: $0.value, isConnected: $0.key == link?.id) }
    }

    func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        scan?.cancel()
        scan = Task {
            while !Task.isCancelled {
                guard let answer = try? await ask("scan 0.1 active"), let reports: [Report] = try? decode(answer) else {
                    return
                }
                for report in reports where !Task.isCancelled { take(report) }
            }
        }
    }

    func stopDiscovery() async throws(BLEError) {
        scan?.cancel()
        // The scan cannot be interrupted, and must not delay later commands.
        await scan?.value
        scan = nil
    }

    private func take(_ report: Report) {
        let id = Peripheral.ID(rawValue: report.address)
        guard let data = try? AdvertisingData(decoding: bytes(report.data).span),
            let part = try? Advertisement(data)
        else { return }
        var all = heard[id] ?? Advertisement(rssi: -50)
        all.localName = part.localName ?? all.localName
        all.serviceUUIDs.formUnion(part.serviceUUIDs)
        all.manufacturerData.merge(part.manufacturerData) { $1 }
        all.serviceData.merge(part.serviceData) { $1 }
        if report.type != "SCAN_RSP" { all.isConnectable = report.type == "ADV_IND" }
        heard[id] = all
        context?.handleEvent(.advertisementReceived(id, all))
    }

    // MARK: The link

    func connect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        guard heard[peripheral]?.isConnectable != false else {
            throw BLEError(.connectionFailed, "it is not connectable")
        }
        if link != nil { return }
        // Events of an earlier link, such as its end.
        try await ask("events")
        try await ask("connect")
        link = Link(id: peripheral, events: Task { await self.follow(peripheral) })
    }

    func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        guard link != nil else { return }
        _ = try? await ask("disconnect")
        end(BLEError(.disconnected, "ended here", disconnectReason: .local))
    }

    private func end(_ error: BLEError) {
        guard let ended = link else { return }
        link = nil
        ended.events.cancel()
        for channel in ended.channels.values { channel.end(BLEError(.disconnected, "the link ended")) }
        context?.handleEvent(.linkEnded(ended.id, error))
    }

    /// Reads the central's events, until the link ends.
    private func follow(_ id: Peripheral.ID) async {
        while !Task.isCancelled {
            guard let answer = try? await ask("next 5") else { return }
            guard answer != "-", let event: Event = try? decode(answer) else { continue }
            switch event.event {
            case "notification", "indication":
                guard let handle = event.handle else { continue }
                if handle == link?.serviceChanged {
                    link?.serviceChanged = nil
                    context?.handleEvent(.servicesChanged(id))
                } else {
                    link?.deliveries[handle]?(bytes(event.value ?? "-"))
                }
            case "packet", "closed": take(event)
            case "disconnected": return end(BLEError(.disconnected, "the link ended", disconnectReason: .remote))
            default: break
            }
        }
    }

    func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int { Int(try await ask("mtu")) ?? 23 }

    // MARK: Attributes

    func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        let services: [Service] = try decode(try await ask("discover"))
        for characteristic in services.flatMap(\.characteristics) {
            link?.values[characteristic.declaration] = characteristic.handle
            guard BluetoothUUID(characteristic.uuid) == BluetoothUUID(0x2A05) else { continue }
            try await ask("subscribe \(characteristic.handle) indicate")
            link?.serviceChanged = characteristic.handle
        }
        return GATTDatabase(
            services: services.map { service in
                GATTService(
                    uuid: Self.uuid(service.uuid), handle: service.handle, isPrimary: service.primary,
                    characteristics: service.characteristics.map { characteristic in
                        GATTCharacteristic(
                            uuid: Self.uuid(characteristic.uuid), handle: characteristic.declaration,
                            properties: CharacteristicProperties(rawValue: characteristic.properties),
                            descriptors: characteristic.descriptors.map {
                                GATTDescriptor(uuid: Self.uuid($0.uuid), handle: $0.handle)
                            })
                    }, includedHandles: service.includes.map(\.handle))
            })
    }

    private static func uuid(_ text: String) -> BluetoothUUID { BluetoothUUID(text) ?? BluetoothUUID(0) }

    private func value(_ characteristic: AttributeID) throws(BLEError) -> UInt16 {
        guard let handle = link?.values[characteristic.handle] else { throw BLEError(ATTError.invalidHandle) }
        return handle
    }

    func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        startTask(completion: completion) { (central) throws(BLEError) in
            try await central.carryOut(operation, on: attribute)
        }
    }

    private func carryOut(_ operation: AttributeOperation, on attribute: AttributeID) async throws(BLEError) -> [UInt8]
    {
        switch operation {
        case .read(let offset):
            return Array(bytes(try await ask("readlong \(try value(attribute))")).dropFirst(offset))
        case .write(let value, let type, let offset):
            let handle = try self.value(attribute)
            let length = try await attMTU(attribute.peripheral) - 3
            if type == .withoutResponse {
                try await ask("command \(handle) \(spell(value))")
            } else if offset > 0 || value.count > length {
                try await ask("writelong \(handle) \(spell(value)) \(offset)")
            } else {
                try await ask("write \(handle) \(spell(value))")
            }
        case .readDescriptor: return bytes(try await ask("readlong \(attribute.handle)"))
        case .writeDescriptor(let value): try await ask("write \(attribute.handle) \(spell(value))")
        }
        return []
    }

    func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) {
        let handle = try value(characteristic)
        // Before the answer, so that no value is missed.
        link?.deliveries[handle] = deliver
        do throws(BLEError) {
            try await ask("subscribe \(handle) notify")
        } catch  where error.attError == .improperlyConfigured {
            // It only indicates.
            try await ask("subscribe \(handle) indicate")
        }
    }

    func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        guard let handle = link?.values[characteristic.handle] else { return }
        link?.deliveries[handle] = nil
        try await ask("unsubscribe \(handle)")
    }

    // MARK: Channels

    func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> any ChannelTransport {
        openings += 1
        defer {
            openings -= 1
            if openings == 0 { early = [] }
        }
        let opened: Opened = try decode(try await ask("channel \(psm) \(options.maximumReceiveLength)"))
        guard link?.id == peripheral else { throw BLEError(.disconnected, "the link ended") }
        let channel = BumbleChannel(
            self, number: opened.channel, maximumLength: opened.mtu, maximumReceiveLength: options.maximumReceiveLength)
        link?.channels[opened.channel] = channel
        for event in early where event.channel == opened.channel { take(event) }
        return channel
    }

    private func take(_ event: Event) {
        guard let number = event.channel else { return }
        guard let channel = link?.channels[number] else {
            // The peer may tell of a channel before it answers that it has opened it.
            if openings > 0 { early.append(event) }
            return
        }
        if event.event == "packet" {
            channel.take(bytes(event.value ?? "-"))
        } else {
            link?.channels[number] = nil
            channel.end(nil)
        }
    }

    /// Sends a packet on a channel. Returns when it has left.
    func send(_ packet: [UInt8], on channel: Int) async throws(BLEError) {
        try await ask("send \(channel) \(spell(packet))")
    }

    /// Closes a channel. Does nothing if it has ended.
    func closeChannel(_ channel: Int) async {
        guard link?.channels.removeValue(forKey: channel) != nil else { return }
        _ = try? await ask("close \(channel)")
    }

    /// Runs `work` in the central's isolation.
    func perform(_ work: @Sendable () -> Void) { work() }
}
