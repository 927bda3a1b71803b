import BLE
import BLEAssignedNumbers
import BLEBeacons
import BLEDefinitions
import BLETestSupport
import Foundation
import Testing

struct VendorDefinitionTests {
    private static let text = """
        {
          "companies": { "0b5e": "Green Things" },
          "services": { "ff00": "Tank" },
          "characteristics": {
            "ff01": "Mode",
            "ff02": { "name": "Level", "fields": { "distance": { "at": 0, "type": "u16", "factor": 0.1, "unit": "cm" } } }
          },
          "descriptors": { "ff0a": "Calibration" },
          "formats": {
            "soil": { "company": "0b5e", "begins": "03", "fields": { "temperature": { "at": 1, "type": "i8", "unit": "°C" } } }
          }
        }
        """

    @Test func `names are those of the catalog`() throws {
        let vendor = try VendorDefinition(json: Self.text.utf8)
        #expect(vendor.catalog.company(0x0B5E) == "Green Things")
        #expect(BluetoothUUID(0xFF00).name(in: vendor.catalog) == "Tank")
        #expect(vendor.catalog.characteristic("level") == BluetoothUUID(0xFF02))
        #expect(vendor.catalog.characteristic("mode") == BluetoothUUID(0xFF01))
        #expect(BluetoothUUID(0xFF0A).name(in: vendor.catalog) == "Calibration")
        // The SIG's numbers are found, too.
        #expect(vendor.catalog.service("heart-rate") == BluetoothUUID(0x180D))
    }

    @Test func `formats join those of the package, and values have readings`() throws {
        let vendor = try VendorDefinition(json: Self.text.utf8)
        let formats = AdvertisementFormats([.beacons, vendor.formats])
        let soil = Advertisement(manufacturerData: [0x0B5E: [3, 21]])
        let known = try #require(soil.known(formats))
        #expect(known.format.name == "soil" && known.format.source == .company(0x0B5E))
        #expect(known.readings == [SensorReading(name: "temperature", value: .number(21), unit: "°C")])
        #expect(Advertisement(manufacturerData: [0x0B5E: [4, 21]]).known(formats) == nil)
        #expect(
            vendor.readings(in: [0x2A, 0], of: BluetoothUUID(0xFF02)) == [
                SensorReading(name: "distance", value: .number(4.2), unit: "cm")
            ])
        #expect(vendor.readings(in: [1], of: BluetoothUUID(0xFF01)) == [])
    }

    @Test(
        arguments: [
            (#"{"service": {}}"#, "service"), (#"{"services": {"tank": "Tank"}}"#, "services.tank"),
            (#"{"companies": {"5e": "A"}}"#, "companies.5e"), (#"{"services": {"ff00": ""}}"#, "services.ff00"),
            (#"{"characteristics": {"ff01": {"name": "a"}}}"#, "characteristics.ff01.fields"),
            (
                #"{"characteristics": {"ff01": {"company": "0499", "fields": {"a": {"at": 0, "type": "u8"}}}}}"#,
                "characteristics.ff01"
            ),
            (#"{"formats": {"a": {"fields": {"a": {"at": 0, "type": "u8"}}}}}"#, "formats.a"),
            (#"{"services": {"ff00": "A", "0000ff00-0000-1000-8000-00805f9b34fb": "B"}}"#, "services.ff00"),
            (#"{"characteristics": {"0000ff01": "A", "ff01": "B"}}"#, "characteristics.ff01"),
            (#"{"descriptors": {"FF02": "A", "ff02": "B"}}"#, "descriptors.ff02"),
            (#"{"companies": {"0B5E": "A", "0b5e": "B"}}"#, "companies.0b5e"),
            ("[]", ""), ("{", ""),
        ])
    func `what the form does not allow is refused with its place`(text: String, place: String) {
        let error = #expect(throws: DefinitionError.self) { try VendorDefinition(json: text.utf8) }
        #expect(error?.place == place)
    }

    @Test func `the published schema has the keys that a definition can have`() throws {
        struct Schema: Decodable {
            struct Kind: Decodable {
                struct Property: Decodable {}
                let properties: [String: Property]?
            }
            let properties: [String: Kind.Property]
            let definitions: [String: Kind]
            enum CodingKeys: String, CodingKey {
                case properties
                case definitions = "$defs"
            }
        }
        let schema = try JSONDecoder().decode(
            Schema.self, from: Data(try Checkout.text("Docs/Vendor.schema.json").utf8))
        #expect(schema.properties.keys.sorted() == VendorDefinition.keys.sorted())
        #expect(schema.definitions["field"]?.properties?.keys.sorted() == DataLayout.keys["field"]?.sorted())
        #expect(schema.definitions["format"]?.properties?.keys.sorted() == DataLayout.keys["format"]?.sorted())
    }
}
