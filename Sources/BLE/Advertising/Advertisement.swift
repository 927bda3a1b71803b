internal import Waiting

/// The data that a peripheral advertises, combined from all packets received so far.
public struct Advertisement: Hashable, Sendable {
    /// Everything but the signal strength, which a peripheral sends again and again. Compact, because a program may
    /// know thousands of peripherals.
    private struct Content: Hashable, Sendable {
        var localName: String?
        var services = UUIDList()
        var companyData = DataTable<UInt16>()
        /// Nil if it is empty.
        var serviceData: Boxed<DataTable<BluetoothUUID>>?
        /// Nil if there is nothing of it.
        var rare: Boxed<Rare>?
        var structures: [AdvertisingStructure] = []
        var txPower: Int?
        var flags: AdvertisingFlags?
        var addressType: AddressType?
        var appearance: Appearance?
        var isConnectable: Bool?
    }

    /// What few peripherals advertise, or few systems report.
    private struct Rare: Hashable, Sendable {
        var solicitedServiceUUIDs: Set<BluetoothUUID> = []
        var advertisingInterval: Duration?
        var deviceClass: UInt32?
    }

    /// In a box, because an advertisement is copied at each step on its way to a reader: a copy counts one reference
    /// instead of six.
    private var content: Boxed<Content>
    /// The signal strength, with 127 for none.
    private var strength: Int8

    /// Received signal strength in dBm, −127 to 20. Nil if the peripheral is only cached, or if the controller reported
    /// 127, which means that the strength is not available (Core Specification 5.4, volume 4, part E, section
    /// 7.7.65.2). A strength that does not fit in its byte, as a recording may contain, is limited to that.
    public var rssi: Int? {
        get { strength == .max ? nil : Int(strength) }
        set { strength = newValue.map { Int8(clamping: $0) } ?? .max }
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
        get { services.set }
        set { services = UUIDList(newValue) }
    }
    /// Manufacturer specific data by company identifier, without the identifier's two bytes.
    public var manufacturerData: [UInt16: [UInt8]] {
        get { companyData.dictionary }
        set { companyData = DataTable(newValue) }
    }
    /// Service data by service UUID.
    public var serviceData: [BluetoothUUID: [UInt8]] {
        get { dataOfServices.dictionary }
        set { dataOfServices = DataTable(newValue) }
    }
    /// The advertised service UUIDs as they are kept.
    package var services: UUIDList {
        get { content.value.services }
        _modify { yield &content.value.services }
    }
    /// The manufacturer data as it is kept.
    package var companyData: DataTable<UInt16> {
        get { content.value.companyData }
        _modify { yield &content.value.companyData }
    }
    /// The service data as it is kept.
    package var dataOfServices: DataTable<BluetoothUUID> {
        get { content.value.serviceData?.value ?? DataTable() }
        _modify {
            // Moved out, so that it is changed in place.
            var data = content.value.serviceData?.value ?? DataTable()
            content.value.serviceData = nil
            defer { content.value.serviceData = data.isEmpty ? nil : Boxed(data) }
            yield &data
        }
    }
    /// Returns the manufacturer data of a company.
    package func data(ofCompany company: UInt16) -> [UInt8]? { content.value.companyData[company] }
    /// Returns the data of a service.
    package func data(ofService service: BluetoothUUID) -> [UInt8]? { content.value.serviceData?.value[service] }
    /// The external appearance, such as that of a heart rate belt.
    public var appearance: Appearance? {
        get { content.value.appearance }
        _modify { yield &content.value.appearance }
    }
    /// The class of device (Assigned Numbers, section 2.8), 24 bits. Only a Classic device has one.
    public var deviceClass: UInt32? {
        get { content.value.rare?.value.deviceClass }
        set { changeRare(unless: newValue == nil) { $0.deviceClass = newValue } }
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
        get { content.value.rare?.value.solicitedServiceUUIDs ?? [] }
        set { changeRare(unless: newValue.isEmpty) { $0.solicitedServiceUUIDs = newValue } }
    }
    /// The advertising interval that the device states, a multiple of 625 µs.
    public var advertisingInterval: Duration? {
        get { content.value.rare?.value.advertisingInterval }
        set { changeRare(unless: newValue == nil) { $0.advertisingInterval = newValue } }
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
        strength = .max
        content = Boxed(
            Content(
                localName: localName, services: UUIDList(serviceUUIDs), companyData: DataTable(manufacturerData),
                structures: structures, txPower: txPower, flags: flags, addressType: addressType,
                appearance: appearance, isConnectable: isConnectable))
        self.rssi = rssi
        if !serviceData.isEmpty { self.serviceData = serviceData }
        if deviceClass != nil { self.deviceClass = deviceClass }
        if !solicitedServiceUUIDs.isEmpty { self.solicitedServiceUUIDs = solicitedServiceUUIDs }
        if advertisingInterval != nil { self.advertisingInterval = advertisingInterval }
    }

    /// Changes the rare content, and forgets it if nothing of it is left.
    private mutating func changeRare(unless isNothing: Bool, _ change: (inout Rare) -> Void) {
        if content.value.rare == nil {
            guard !isNothing else { return }
            content.value.rare = Boxed(Rare())
        }
        change(&content.value.rare!.value)
        if content.value.rare?.value == Rare() { content.value.rare = nil }
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
        let children: [(String, Any)] = [
            ("rssi", rssi as Any), ("localName", localName as Any), ("txPower", txPower as Any),
            ("serviceUUIDs", serviceUUIDs), ("manufacturerData", manufacturerData), ("serviceData", serviceData),
            ("appearance", appearance as Any), ("deviceClass", deviceClass as Any),
            ("addressType", addressType as Any), ("isConnectable", isConnectable as Any), ("flags", flags as Any),
            ("solicitedServiceUUIDs", solicitedServiceUUIDs), ("advertisingInterval", advertisingInterval as Any),
            ("structures", structures),
        ]
        return Mirror(self, children: children.map { (label: $0, value: $1) }, displayStyle: .struct)
    }
}
