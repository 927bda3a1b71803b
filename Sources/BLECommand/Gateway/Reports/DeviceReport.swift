import BLE
import BLEBTHome
import BLEBeacons
import BLEDefinitions

/// What an advertisement of a listed device says.
struct DeviceReport: Sendable {
    private(set) var fields: [SensorReading] = []
    /// The events of BTHome. A device sends each several times; see ``ReportHistory``.
    private(set) var events: [DeviceEvent] = []
    /// The service data of BTHome. Nil if there is none, or if it cannot be decoded.
    private(set) var data: [UInt8]?
    /// The counter of an encrypted report.
    private(set) var counter: UInt32?
    /// The number that BTHome devices count up with each new report.
    private(set) var packetID: Int64?
    /// Whether the peripheral was received, and is not only known to the system.
    private(set) var isReceived: Bool
    /// Whether the advertisement counts as one of the device: that of a device with a key has a report that the key
    /// authenticates.
    private(set) var isTrusted = true
    private let peripheral: Peripheral.ID

    /// Reads the device's own format or, without one, BTHome, RuuviTag and Eddystone's telemetry.
    ///
    /// Data that cannot be decoded is ignored. A BTHome report that is encrypted needs the device's key. With a key,
    /// only such a report is read, because any device can send anything else.
    ///
    /// - Parameter last: the last report of the device. The same data, with which the system tells of each change of
    ///   the signal strength, is not decrypted again.
    init(
        of advertisement: Advertisement, from peripheral: Peripheral.ID, _ entry: ListedDevice,
        after last: DeviceReport? = nil
    ) {
        if entry.bthomeKey != nil, let last, last.peripheral == peripheral, let data = last.data,
            data == advertisement.data(ofService: Self.service)
        {
            self = last
            isReceived = advertisement.rssi != nil
            return
        }
        isReceived = advertisement.rssi != nil
        self.peripheral = peripheral
        if let format = entry.format {
            fields = format.readings(in: advertisement)
            return
        }
        addBTHome(advertisement, peripheral, entry.bthomeKey)
        isTrusted = entry.bthomeKey == nil || data != nil
        if entry.bthomeKey == nil { addBeacons(advertisement) }
        fields = SensorReading.numbered(fields)
    }

    private mutating func addBeacons(_ advertisement: Advertisement) {
        fields += Self.beacons.all(in: advertisement).flatMap(\.readings)
    }

    /// The formats of sensors beside BTHome.
    private static let beacons = AdvertisementFormats(RuuviTag.self, Eddystone.self)

    /// The service of BTHome.
    private static let service = BluetoothUUID(0xFCD2)

    private mutating func addBTHome(_ advertisement: Advertisement, _ peripheral: Peripheral.ID, _ key: [UInt8]?) {
        guard let data = advertisement.data(ofService: Self.service),
            let report = try? BTHome.decode(advertisement), let objects = Self.objects(of: report, peripheral, key)
        else { return }
        fields += objects.compactMap(\.reading)
        events = DeviceEvent.events(of: objects)
        self.data = data
        if case .encrypted(let sealed) = report.payload { counter = sealed.counter }
        if let id = objects.first(where: { $0.kind.id == 0 }), case .number(let number) = id.content {
            packetID = number
        }
    }

    private static func objects(of report: BTHome, _ peripheral: Peripheral.ID, _ key: [UInt8]?) -> [BTHomeObject]? {
        #if BTHomeEncryption
            let key = key.flatMap { BTHomeKey($0) }
            return try? report.objects(key: key, address: Hex.bytes(peripheral.rawValue) ?? [])
        #else
            return key == nil ? report.objects : nil
        #endif
    }
}
