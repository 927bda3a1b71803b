public import BLE

extension BluetoothUUID {
    /// The Automation IO service.
    public static let automationIO = BluetoothUUID(0x1815)
}

/// The Automation IO service of an IO module, with digital and analog inputs and outputs (Automation IO Service 1.0).
///
/// ```swift
/// let relays = try await AutomationIO(peripheral).digitals().first { $0.isOutput }
/// try await relays?.set([.active, .inactive])
/// ```
public struct AutomationIO: Profile {
    /// 0x1815.
    public static let serviceUUID = BluetoothUUID.automationIO
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the digital characteristics, in order of handles. Connects and discovers if necessary.
    ///
    /// The number of signals of each is in its Number of Digitals descriptor (0x2909). Without a descriptor, there are
    /// four for each byte.
    public func digitals() async throws(BLEError) -> [AutomationSignal<[DigitalState]>] {
        var digitals: [AutomationSignal<[DigitalState]>] = []
        for found in try await service.discover()[all: Characteristic.digital.uuid] {
            digitals.append(signal(.digitals(try await count(of: found)), found))
        }
        return digitals
    }

    /// Returns the analog characteristics, in order of handles. Connects and discovers if necessary.
    public func analogs() async throws(BLEError) -> [AutomationSignal<UInt16>] {
        try await service.discover()[all: Characteristic.analog.uuid].map { signal(.codable, $0) }
    }

    /// Returns the values of all inputs at one time.
    public func aggregate() async throws(BLEError) -> AutomationAggregate {
        try await service.read(try await aggregateKey())
    }

    /// Returns the values of all inputs, whenever one of them meets the condition of its value trigger.
    public func aggregates() async throws(BLEError) -> NotificationStream<AutomationAggregate> {
        try await service.notifications(try await aggregateKey())
    }

    /// Returns the key of the aggregate, with a coding for the inputs of this module. The inputs are those that can be
    /// read, notified or indicated. Throws `invalidValue` if the number of signals of a digital input is not available.
    public func aggregateKey() async throws(BLEError) -> Characteristic<AutomationAggregate> {
        let readable: CharacteristicProperties = [.read, .notify, .indicate]
        let inputs = try await inOrder(service.discover().filter { !$0.properties.isDisjoint(with: readable) })
        var counts: [Int] = []
        for found in inputs where found.uuid == Characteristic.digital.uuid {
            guard let count = try await count(of: found) else {
                throw BLEError(
                    .invalidValue, "a digital input does not report its number of signals", isRetryable: false
                )
                .on(peripheral, found)
            }
            counts.append(count)
        }
        let analogCount = inputs.count { $0.uuid == Characteristic.analog.uuid }
        let coding = AutomationAggregate.coding(digitalCounts: counts, analogCount: analogCount)
        return Characteristic(coding, BluetoothUUID(0x2A5A), service: .automationIO)
    }

    /// Sorts characteristics in the order of the aggregate: by the description in the presentation format, which each
    /// has if there are several of a type, otherwise by handle. Infineon's implementation of the service sorts in this
    /// way; this was not compared with the text of the specification.
    private func inOrder(_ found: [GATTCharacteristic]) async throws(BLEError) -> [GATTCharacteristic] {
        guard Dictionary(grouping: found, by: \.uuid).values.contains(where: { $0.count > 1 }) else { return found }
        var places: [UInt16: UInt16] = [:]
        for found in found {
            let key = service.key(Characteristic(.bytes, found.uuid, handle: found.handle)).key
            places[found.handle] = try await peripheral.presentationFormat(of: key)?.description.rawValue
        }
        return found.sorted { left, right in
            let (first, second) = (places[left.handle] ?? .max, places[right.handle] ?? .max)
            return (first, left.handle) < (second, right.handle)
        }
    }

    /// Returns the number in the Number of Digitals descriptor. Nil if the characteristic has no such descriptor.
    private func count(of found: GATTCharacteristic) async throws(BLEError) -> Int? {
        let key = service.key(Characteristic(.bytes, found.uuid, handle: found.handle)).key
        let count: UInt8? = try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x2909), of: key, as: .codable)
        return count.map { Int($0) }
    }

    private func signal<Value>(_ coding: ValueCoding<Value>, _ found: GATTCharacteristic) -> AutomationSignal<Value> {
        AutomationSignal(
            peripheral: peripheral,
            characteristic: service.key(Characteristic(coding, found.uuid, handle: found.handle)),
            discovered: found)
    }
}

extension Characteristic where Value == [DigitalState] {
    /// The states of digital signals (section 3.1), four for each byte. ``AutomationIO/digitals()`` finds their number.
    public static var digital: Self { Characteristic(.digitals(nil), BluetoothUUID(0x2A56), service: .automationIO) }
}

extension Characteristic where Value == UInt16 {
    /// The value of an analog signal (section 3.2), 0 to 65535. Its unit is in the presentation format.
    public static var analog: Self { Characteristic(BluetoothUUID(0x2A58), service: .automationIO) }
}

extension BLEError {
    fileprivate func on(_ peripheral: Peripheral, _ found: GATTCharacteristic) -> BLEError {
        at(peripheral.id, service: .automationIO, characteristic: found.uuid)
    }
}
