internal import Waiting

/// The data that a peripheral advertises, combined from all packets received so far.
public struct Advertisement: Hashable, Sendable {
    /// Everything but the signal strength, which a peripheral sends again and again.
    private struct Content: Hashable, Sendable {
        var localName: String?
        var txPower: Int?
        var serviceUUIDs: Set<BluetoothUUID>
        var manufacturerData: [UInt16: [UInt8]]
        var serviceData: [BluetoothUUID: [UInt8]]
        var appearance: Appearance?
        var deviceClass: UInt32?
        var addressType: AddressType?
        var isConnectable: Bool?
        var flags: AdvertisingFlags?
        var solicitedServiceUUIDs: Set<BluetoothUUID>
        var advertisingInterval: Duration?
        var structures: [AdvertisingStructure]
    }

    /// In a box, because an advertisement is copied at each step on its way to a reader: a copy counts one reference
    /// instead of six.
    private var content: Boxed<Content>

    /// Received signal strength in dBm, −127 to 20. Nil if the peripheral is only cached, or if the controller reported
    /// 127, which means that the strength is not available.
    public var rssi: Int? {
        didSet { rssi = Self.known(rssi) }
    }
    /// The number of the radio that has received it, among those of a central. Two advertisements that differ in that
    /// alone are equal.
    package var radio: UInt8 {
        get { receiver.radio }
        set { receiver.radio = newValue }
    }
    private var receiver = Receiver()

    /// A radio that is not compared.
    private struct Receiver: Hashable, Sendable {
        var radio: UInt8 = 0

        static func == (left: Receiver, right: Receiver) -> Bool { true }

        func hash(into hasher: inout Hasher) {}
    }

    /// The advertised name. If no packet contained one, the name that the system remembers or that the peripheral
    /// reported on a connection.
    public var localName: String? {
        get { content.value.localName }
        _modify { yield &content.value.localName }
    }
    /// Advertised transmit power in dBm, −127 to 127.
    public var txPower: Int? {
        get { content.value.txPower }
        _modify { yield &content.value.txPower }
    }
    /// Advertised service UUIDs. BlueZ adds the services that were discovered on earlier connections.
    public var serviceUUIDs: Set<BluetoothUUID> {
        get { content.value.serviceUUIDs }
        _modify { yield &content.value.serviceUUIDs }
    }
    /// Manufacturer specific data by company identifier, without the identifier's two bytes.
    public var manufacturerData: [UInt16: [UInt8]] {
        get { content.value.manufacturerData }
        _modify { yield &content.value.manufacturerData }
    }
    /// Service data by service UUID.
    public var serviceData: [BluetoothUUID: [UInt8]] {
        get { content.value.serviceData }
        _modify { yield &content.value.serviceData }
    }
    /// The external appearance, such as that of a heart rate belt.
    public var appearance: Appearance? {
        get { content.value.appearance }
        _modify { yield &content.value.appearance }
    }
    /// The class of device (Assigned Numbers, section 2.8), 24 bits. Only a Classic device has one.
    public var deviceClass: UInt32? {
        get { content.value.deviceClass }
        _modify { yield &content.value.deviceClass }
    }
    /// The kind of address that the device uses.
    public var addressType: AddressType? {
        get { content.value.addressType }
        _modify { yield &content.value.addressType }
    }
    /// Whether the device accepts connections. Nil if the system does not report it, as with BlueZ.
    public var isConnectable: Bool? {
        get { content.value.isConnectable }
        _modify { yield &content.value.isConnectable }
    }
    /// The advertised flags. Nil if there were none or the system does not report them.
    public var flags: AdvertisingFlags? {
        get { content.value.flags }
        _modify { yield &content.value.flags }
    }
    /// The solicited services: the services that the device looks for on a central.
    public var solicitedServiceUUIDs: Set<BluetoothUUID> {
        get { content.value.solicitedServiceUUIDs }
        _modify { yield &content.value.solicitedServiceUUIDs }
    }
    /// The advertising interval that the device states, a multiple of 625 µs.
    public var advertisingInterval: Duration? {
        get { content.value.advertisingInterval }
        _modify { yield &content.value.advertisingInterval }
    }
    /// AD structures as received, as far as the system reports them.
    ///
    /// An experimental bluetoothd reports the structures that none of its other properties cover, ordered by type. The
    /// kernel's management socket and a Bluetooth proxy report all structures of the last packet, in their order, with
    /// those of the scan response. Otherwise, the array is empty.
    public var structures: [AdvertisingStructure] {
        get { content.value.structures }
        _modify { yield &content.value.structures }
    }

    /// Creates an advertisement. By default, it is empty.
    public init(
        localName: String? = nil, rssi: Int? = nil, txPower: Int? = nil, serviceUUIDs: Set<BluetoothUUID> = [],
        manufacturerData: [UInt16: [UInt8]] = [:], serviceData: [BluetoothUUID: [UInt8]] = [:],
        appearance: Appearance? = nil, deviceClass: UInt32? = nil, addressType: AddressType? = nil,
        isConnectable: Bool? = nil, flags: AdvertisingFlags? = nil, solicitedServiceUUIDs: Set<BluetoothUUID> = [],
        advertisingInterval: Duration? = nil, structures: [AdvertisingStructure] = []
    ) {
        self.rssi = Self.known(rssi)
        content = Boxed(
            Content(
                localName: localName, txPower: txPower, serviceUUIDs: serviceUUIDs, manufacturerData: manufacturerData,
                serviceData: serviceData, appearance: appearance, deviceClass: deviceClass, addressType: addressType,
                isConnectable: isConnectable, flags: flags, solicitedServiceUUIDs: solicitedServiceUUIDs,
                advertisingInterval: advertisingInterval, structures: structures))
    }

    /// Returns nil for 127, which means that no strength is available (Core Specification 5.4, volume 4, part E,
    /// section 7.7.65.2). A strength that does not fit in its byte, as a recording may contain, is limited to that.
    private static func known(_ rssi: Int?) -> Int? {
        let limited = rssi.map { Int(Int8(clamping: $0)) }
        return limited == 127 ? nil : limited
    }
}

/// The two kinds of device addresses (Core Specification 5.4, volume 6, part B, section 1.3).
public enum AddressType: String, Hashable, Codable, Sendable {
    /// Assigned by the manufacturer. Classic devices use public addresses, too.
    case `public`
    /// Chosen by the device, either permanently or for a limited time.
    case random
}

/// A Bluetooth transport.
public enum Transport: String, Hashable, Codable, Sendable, CaseIterable {
    /// Bluetooth Low Energy.
    case le
    /// Bluetooth Classic, BR/EDR.
    case classic
    /// Both LE and Classic.
    case any
}

extension Advertisement: CustomReflectable {
    /// Its properties, which are also what `print` and `dump` show.
    public var customMirror: Mirror {
        let others = Mirror(reflecting: content.value).children
        return Mirror(self, children: [(label: "rssi", value: rssi as Any)] + others, displayStyle: .struct)
    }
}
