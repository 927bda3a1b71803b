/// The AD types that ``AdvertisingElement`` decodes (Assigned Numbers, section 2.3).
enum ADType {
    static let flags: UInt8 = 0x01
    static let incompleteUUIDs16: UInt8 = 0x02
    static let completeUUIDs16: UInt8 = 0x03
    static let incompleteUUIDs32: UInt8 = 0x04
    static let completeUUIDs32: UInt8 = 0x05
    static let incompleteUUIDs128: UInt8 = 0x06
    static let completeUUIDs128: UInt8 = 0x07
    static let shortenedName: UInt8 = 0x08
    static let completeName: UInt8 = 0x09
    static let txPower: UInt8 = 0x0A
    static let solicitedUUIDs16: UInt8 = 0x14
    static let solicitedUUIDs128: UInt8 = 0x15
    static let serviceData16: UInt8 = 0x16
    static let appearance: UInt8 = 0x19
    static let advertisingInterval: UInt8 = 0x1A
    static let solicitedUUIDs32: UInt8 = 0x1F
    static let serviceData32: UInt8 = 0x20
    static let serviceData128: UInt8 = 0x21
    static let longAdvertisingInterval: UInt8 = 0x2F
    static let manufacturerData: UInt8 = 0xFF
}
