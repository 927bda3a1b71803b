import BLE
import Testing

@Suite struct AdvertisingParametersTests {
    /// A UUID without a 16-bit form: the Nordic UART service.
    private static let own = BluetoothUUID("6e400001-b5a3-f393-e0a9-e50e24dcca9e")!
    /// The data of an iBeacon, after the company identifier.
    private static let iBeacon = Hex.bytes("0215 e2c56db5dffb48d2b060d0f5a71096e0 0001 f002 c5")!

    private static func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }
    private static func name(_ count: Int) -> String { String(repeating: "n", count: count) }

    private static func error(_ parameters: AdvertisingParameters) -> BLEError? {
        do throws(BLEError) {
            try parameters.validate()
            return nil
        } catch {
            return error
        }
    }

    // MARK: The scan response

    @Test func `what is in the scan response takes its room`() {
        var parameters = AdvertisingParameters(localName: Self.name(10), serviceUUIDs: [BluetoothUUID(0x180D)])
        parameters.scanResponse = ScanResponse(
            serviceUUIDs: [BluetoothUUID(0x180F)], serviceData: [BluetoothUUID(0xFCD2): [1]],
            manufacturerData: [0xFFFF: [1, 2]])
        let budget = parameters.budget()
        #expect(budget.advertisement.used == 7)
        #expect(budget.scanResponse.used == 12 + 4 + 5 + 6)
        #expect(Self.error(parameters) == nil)
        parameters.scanResponse.structures = [AdvertisingStructure(type: 0x26, bytes: [1, 2, 3])]
        #expect(Self.error(parameters)?.message.contains("the scan response has 32 bytes") == true)
    }

    @Test func `what a scan response cannot have is refused`() {
        func error(_ response: ScanResponse, _ phy: AdvertisingPHY? = nil) -> String {
            Self.error(AdvertisingParameters(secondaryPHY: phy, scanResponse: response))?.message ?? ""
        }
        #expect(
            error(ScanResponse(manufacturerData: [1: []])).contains("`scanResponse.manufacturerData` of 0001 is empty"))
        #expect(
            error(ScanResponse(serviceUUIDs: [Self.own, Self.own])).contains("`scanResponse.serviceUUIDs` contains"))
        #expect(
            error(ScanResponse(structures: [AdvertisingStructure(type: 0xFF, bytes: [1])]))
                .contains("`scanResponse.structures` contains type 0xff"))
        #expect(error(ScanResponse(serviceUUIDs: [Self.own]), .le1M).contains("has none"))
    }

    // MARK: Lengths

    @Test(arguments: [
        (AdvertisingParameters(), "flags", 3),
        (AdvertisingParameters(includesTxPower: true), "transmit power", 3),
        (AdvertisingParameters(serviceUUIDs: [BluetoothUUID(0x180D)]), "16-bit services", 4),
        (AdvertisingParameters(serviceUUIDs: [BluetoothUUID(0x180D), BluetoothUUID(0x180F)]), "16-bit services", 6),
        (AdvertisingParameters(serviceUUIDs: [own]), "128-bit services", 18),
        (AdvertisingParameters(serviceUUIDs: [BluetoothUUID(0x1234_5678)]), "128-bit services", 18),
        (AdvertisingParameters(solicitedServiceUUIDs: [BluetoothUUID(0x1805)]), "16-bit solicited services", 4),
        (AdvertisingParameters(solicitedServiceUUIDs: [own]), "128-bit solicited services", 18),
        (AdvertisingParameters(serviceData: [BluetoothUUID(0xFCD2): [0x40, 1, 100]]), "service data fcd2", 7),
        (AdvertisingParameters(serviceData: [own: [1]]), "service data \(own)", 19),
        (AdvertisingParameters(manufacturerData: [0x004C: iBeacon]), "manufacturer data 004c", 27),
        (AdvertisingParameters(localName: "Größe"), "local name", 9),
        (AdvertisingParameters(appearance: 0x0341), "appearance", 4),
        (AdvertisingParameters(structures: [AdvertisingStructure(type: 0x26, bytes: [1, 2])]), "structure 0x26", 4),
    ])
    func `a field has the bytes of its structure`(_ parameters: AdvertisingParameters, _ name: String, _ count: Int)
        throws
    {
        let field = try #require(parameters.budget().fields.last)
        #expect(field.name == name)
        #expect(field.count == count)
        #expect(field.fits)
    }

    @Test func `fields have the order of the packet, after those that the system adds`() {
        let parameters = AdvertisingParameters(
            localName: "n", serviceUUIDs: [Self.own, BluetoothUUID(0x180D)],
            solicitedServiceUUIDs: [BluetoothUUID(0x1805)],
            serviceData: [BluetoothUUID(0xFEAA): [1], BluetoothUUID(0xFCD2): [1]],
            manufacturerData: [0xFFFF: [1], 0x004C: [1]], appearance: 1, includesTxPower: true,
            structures: [AdvertisingStructure(type: 0x26, bytes: [1])])
        let fields = [
            "flags", "transmit power", "16-bit services", "128-bit services", "16-bit solicited services",
            "manufacturer data 004c", "manufacturer data ffff", "service data fcd2", "service data feaa", "local name",
            "appearance", "structure 0x26",
        ]
        let budget = parameters.budget(limit: .extended)
        #expect(budget.fields.map(\.name) == fields)
        #expect(budget.advertisement.used == budget.fields.map(\.count).reduce(0, +))
        #expect(parameters.budget().scanResponse.used == 3)
    }

    @Test(arguments: [(true, 30, 1), (false, 27, 4)])
    func `an iBeacon has 27 bytes, and flags if it is connectable`(_ isConnectable: Bool, _ used: Int, _ available: Int)
    {
        let budget = AdvertisingParameters(isConnectable: isConnectable, manufacturerData: [0x004C: Self.iBeacon])
            .budget()
        #expect(budget.advertisement.used == used)
        #expect(budget.advertisement.available == available)
        #expect(budget.fields.contains { $0.name == "flags" } == isConnectable)
    }

    @Test(arguments: [nil, false, true])
    func `flags are reserved whether or not it is discoverable`(_ isDiscoverable: Bool?) {
        #expect(AdvertisingParameters(isDiscoverable: isDiscoverable).budget().advertisement.used == 3)
    }

    @Test func `the codec encodes as many bytes`() throws {
        let advertisement = Advertisement(
            txPower: 0, serviceUUIDs: [BluetoothUUID(0x180D), Self.own], manufacturerData: [0x02E0: [1]],
            flags: .generalDiscoverable)
        let packet = try advertisement.data().encode(limit: .extended)
        #expect(AdvertisingParameters(advertisement).budget().advertisement.used == packet.count)
    }

    @Test(arguments: [(29, true), (30, false)])
    func `a name of 29 bytes fits the scan response, one of 30 does not`(_ count: Int, _ fits: Bool) throws {
        let parameters = AdvertisingParameters(localName: Self.name(count))
        let budget = parameters.budget()
        let field = try #require(budget.fields.last)
        #expect(field.packet == .scanResponse)
        #expect(field.count == 2 + count)
        #expect(field.fits == fits)
        #expect(budget.isWithinLimits == fits)
        #expect(budget.scanResponse.available == 29 - count)
        #expect(budget.advertisement.used == 3)
        #expect((Self.error(parameters) == nil) == fits)
    }

    @Test func `an empty name is not advertised`() {
        let budget = AdvertisingParameters(isConnectable: false, localName: "").budget()
        #expect(budget.fields.isEmpty)
        #expect(budget.scanResponse.used == 0)
    }

    @Test(arguments: [(true, 24, 25), (false, 27, 28)])
    func `the flags leave 28 bytes to the data`(_ isConnectable: Bool, _ longest: Int, _ tooLong: Int) {
        var parameters = AdvertisingParameters(
            isConnectable: isConnectable, serviceData: [BluetoothUUID(0xFCD2): Self.bytes(longest)])
        #expect(parameters.budget().advertisement.available == 0)
        #expect(parameters.budget().firstOverflowing == nil)
        parameters.serviceData = [BluetoothUUID(0xFCD2): Self.bytes(tooLong)]
        #expect(parameters.budget().firstOverflowing?.name == "service data fcd2")
        #expect(parameters.budget().advertisement.available == -1)
    }

    @Test func `the first field over the limit is named, and what it takes to fit`() throws {
        let parameters = AdvertisingParameters(
            localName: "short", serviceUUIDs: [Self.own], manufacturerData: [0x02E0: Self.bytes(8)], appearance: 1)
        let budget = parameters.budget()
        #expect(budget.fields.filter { !$0.fits }.map(\.name) == ["manufacturer data 02e0", "appearance"])
        #expect(budget.advertisement.used == 37)
        let error = try #require(Self.error(parameters))
        #expect(error.code == .invalidArgument)
        #expect(error.message.contains("manufacturer data 02e0"))
        #expect(error.remedy?.contains("6 bytes") == true)
        #expect(error.remedy?.contains("secondaryPHY") == true)
    }

    // MARK: Extended advertising

    @Test func `a connectable extended advertisement contains the name and has no scan response`() throws {
        var parameters = AdvertisingParameters(localName: Self.name(100), secondaryPHY: .le1M)
        let budget = parameters.budget()
        #expect(budget.fields.last?.packet == .advertisement)
        #expect(budget.advertisement.used == 105)
        #expect(budget.scanResponse.capacity == 0)
        #expect(Self.error(parameters) == nil)
        parameters.secondaryPHY = nil
        #expect(Self.error(parameters)?.message.contains("local name") == true)
    }

    @Test(arguments: [(244, true), (245, false)])
    func `an extended advertisement has 251 bytes`(_ count: Int, _ fits: Bool) {
        var parameters = AdvertisingParameters(manufacturerData: [0xFFFF: Self.bytes(count)], secondaryPHY: .coded)
        #expect(parameters.budget().advertisement.capacity == 251)
        #expect(parameters.budget().isWithinLimits == fits)
        #expect((Self.error(parameters) == nil) == fits)
        #expect(parameters.budget(limit: .chained).isWithinLimits == fits)
        #expect(!parameters.budget(limit: .legacy).isWithinLimits)
        parameters.secondaryPHY = nil
        #expect(Self.error(parameters) != nil)
    }

    @Test func `an extended beacon has a name or other content`() {
        var parameters = AdvertisingParameters(isConnectable: false, localName: "n", secondaryPHY: .le2M)
        #expect(Self.error(parameters) == nil)
        parameters.manufacturerData = [0xFFFF: [1]]
        #expect(Self.error(parameters)?.message.contains("`localName`") == true)
        parameters.secondaryPHY = nil
        #expect(Self.error(parameters) == nil)
    }

    // MARK: Ranges

    @Test(arguments: [
        AdvertisingParameters(),
        AdvertisingParameters(localName: ""),
        AdvertisingParameters(duration: .seconds(1)),
        AdvertisingParameters(duration: .seconds(65535)),
        AdvertisingParameters(isDiscoverable: true, discoverableDuration: .seconds(60), duration: .seconds(60)),
        AdvertisingParameters(isDiscoverable: true, discoverableDuration: .seconds(60)),
        AdvertisingParameters(interval: .milliseconds(20) ... .seconds(10485)),
        AdvertisingParameters(txPower: -127), AdvertisingParameters(txPower: 20),
        AdvertisingParameters(isConnectable: false, isDiscoverable: false),
        AdvertisingParameters(structures: [0x0B, 0x13, 0x24, 0x26, 0x2C, 0x2F].map { .init(type: $0, bytes: [1]) }),
    ])
    func `parameters in range are accepted`(_ parameters: AdvertisingParameters) {
        #expect(Self.error(parameters)?.description == nil)
    }

    @Test(arguments: [
        (AdvertisingParameters(duration: .zero), "`duration`"),
        (AdvertisingParameters(duration: .milliseconds(1500)), "`duration`"),
        (AdvertisingParameters(duration: .seconds(65536)), "`duration`"),
        (AdvertisingParameters(isDiscoverable: true, discoverableDuration: .zero), "`discoverableDuration`"),
        (
            AdvertisingParameters(isDiscoverable: true, discoverableDuration: .seconds(61), duration: .seconds(60)),
            "`discoverableDuration`"
        ),
        (AdvertisingParameters(discoverableDuration: .seconds(60)), "`discoverableDuration`"),
        (
            AdvertisingParameters(isDiscoverable: false, discoverableDuration: .seconds(60)),
            "`discoverableDuration`"
        ),
        (AdvertisingParameters(interval: .milliseconds(19) ... .seconds(1)), "`interval`"),
        (AdvertisingParameters(interval: .seconds(1) ... .seconds(10486)), "`interval`"),
        (AdvertisingParameters(txPower: -128), "`txPower`"), (AdvertisingParameters(txPower: 21), "`txPower`"),
        (AdvertisingParameters(isConnectable: false, isDiscoverable: true), "`isDiscoverable`"),
        (AdvertisingParameters(localName: "a\0b"), "`localName`"),
        (AdvertisingParameters(appearance: 0xFFFF), "`appearance`"),
        (AdvertisingParameters(serviceUUIDs: [own, own]), "`serviceUUIDs`"),
        (AdvertisingParameters(solicitedServiceUUIDs: [own, own]), "`solicitedServiceUUIDs`"),
        (AdvertisingParameters(serviceData: [own: []]), "`serviceData`"),
        (AdvertisingParameters(manufacturerData: [0xFFFF: []]), "`manufacturerData`"),
        (AdvertisingParameters(structures: [AdvertisingStructure(type: 0x26, bytes: [])]), "`structures`"),
        (
            AdvertisingParameters(structures: [1, 2].map { AdvertisingStructure(type: 0x26, bytes: [$0]) }),
            "`structures`"
        ),
    ])
    func `the property that cannot be advertised is named, with a remedy`(
        _ parameters: AdvertisingParameters, _ name: String
    ) throws {
        let error = try #require(Self.error(parameters))
        #expect(error.code == .invalidArgument)
        #expect(error.message.hasPrefix(name))
        #expect(error.remedy != nil)
    }

    @Test(arguments: [0x01, 0x03, 0x09, 0x0A, 0x14, 0x16, 0x19, 0x1A, 0x21, 0x29, 0x3D, 0xFF] as [UInt8])
    func `a structure of a type with a property is an error`(_ type: UInt8) {
        let parameters = AdvertisingParameters(structures: [AdvertisingStructure(type: type, bytes: [1])])
        #expect(Self.error(parameters)?.message.contains("0x\(Hex.string([type]))") == true)
    }

    // MARK: Definitions and beacons

    @Test func `the content of an advertisement is adopted`() {
        let raw = AdvertisingStructure(type: 0x26, bytes: [1])
        let advertisement = Advertisement(
            localName: "Strap", rssi: -60, txPower: 4, serviceUUIDs: [BluetoothUUID(0x180F), BluetoothUUID(0x180D)],
            manufacturerData: [0x02E0: [1]], serviceData: [BluetoothUUID(0x180F): [100]], appearance: 0x0341,
            flags: [.generalDiscoverable, .classicNotSupported],
            solicitedServiceUUIDs: [BluetoothUUID(0x1812), BluetoothUUID(0x1805)],
            structures: [AdvertisingStructure(type: 0x09, bytes: Array("Strap".utf8)), raw])
        #expect(
            AdvertisingParameters(advertisement)
                == AdvertisingParameters(
                    localName: "Strap", serviceUUIDs: [BluetoothUUID(0x180D), BluetoothUUID(0x180F)],
                    solicitedServiceUUIDs: [BluetoothUUID(0x1805), BluetoothUUID(0x1812)],
                    serviceData: [BluetoothUUID(0x180F): [100]], manufacturerData: [0x02E0: [1]], appearance: 0x0341,
                    isDiscoverable: true, txPower: 4, includesTxPower: true, structures: [raw]))
    }

    @Test(
        arguments: [
            (nil, nil, true, nil), (nil, AdvertisingFlags.classicNotSupported, true, false),
            (true, .limitedDiscoverable, true, true), (false, .generalDiscoverable, false, nil),
        ] as [(Bool?, AdvertisingFlags?, Bool, Bool?)])
    func `only what is connectable is discoverable`(
        _ stated: Bool?, _ flags: AdvertisingFlags?, _ isConnectable: Bool, _ isDiscoverable: Bool?
    ) {
        let parameters = AdvertisingParameters(Advertisement(isConnectable: stated, flags: flags))
        #expect(parameters.isConnectable == isConnectable)
        #expect(parameters.isDiscoverable == isDiscoverable)
        #expect(Self.error(parameters) == nil)
    }

    @Test func `a beacon is not connectable`() throws {
        let beacons = [
            AdvertisingParameters.beacon(company: 0xFFFF, data: [1, 2]),
            .beacon(service: BluetoothUUID(0xFCD2), data: [0x40]), try .beacon(Fixed()),
        ]
        #expect(beacons.map(\.isConnectable) == [false, false, false])
        #expect(beacons.map { $0.budget().advertisement.used } == [6, 5, 5])
        #expect(beacons[2].manufacturerData == [0xFFFF: [1]])
    }

    private struct Fixed: AdvertisementEncodable {
        func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError) {
            advertisement.manufacturerData[0xFFFF] = [1]
        }
    }

    // MARK: Description

    @Test func `a budget is a table`() {
        let parameters = AdvertisingParameters(
            localName: Self.name(30), serviceUUIDs: [Self.own], includesTxPower: true)
        #expect(
            parameters.budget().description == """
                advertisement       24 of 31 bytes
                  flags              3
                  transmit power     3
                  128-bit services  18
                scan response       32 of 31 bytes
                  local name        32  does not fit
                """)
    }

    @Test func `a table has no line for a packet that is not sent`() {
        let parameters = AdvertisingParameters(secondaryPHY: .le1M)
        #expect(!parameters.budget().description.contains("scan response"))
    }
}
