// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// Types of advertising data: 50.
    static var advertisingDataTypes: NumberTable {
        NumberTable(#"""
        0001 Flags
        0002 Incomplete List of 16-bit Service or Service Class UUIDs
        0003 Complete List of 16-bit Service or Service Class UUIDs
        0004 Incomplete List of 32-bit Service or Service Class UUIDs
        0005 Complete List of 32-bit Service or Service Class UUIDs
        0006 Incomplete List of 128-bit Service or Service Class UUIDs
        0007 Complete List of 128-bit Service or Service Class UUIDs
        0008 Shortened Local Name
        0009 Complete Local Name
        000a Tx Power Level
        000d Class of Device
        000e Simple Pairing Hash C-192
        000f Simple Pairing Randomizer R-192
        0010 Device ID or Security Manager TK Value
        0011 Security Manager Out of Band Flags
        0012 Peripheral Connection Interval Range
        0014 List of 16-bit Service Solicitation UUIDs
        0015 List of 128-bit Service Solicitation UUIDs
        0016 Service Data - 16-bit UUID
        0017 Public Target Address
        0018 Random Target Address
        0019 Appearance
        001a Advertising Interval
        001b LE Bluetooth Device Address
        001c LE Role
        001d Simple Pairing Hash C-256
        001e Simple Pairing Randomizer R-256
        001f List of 32-bit Service Solicitation UUIDs
        0020 Service Data - 32-bit UUID
        0021 Service Data - 128-bit UUID
        0022 LE Secure Connections Confirmation Value
        0023 LE Secure Connections Random Value
        0024 URI
        0025 Indoor Positioning
        0026 Transport Discovery Data
        0027 LE Supported Features
        0028 Channel Map Update Indication
        0029 PB-ADV
        002a Mesh Message
        002b Mesh Beacon
        002c BIGInfo
        002d Broadcast_Code
        002e Resolvable Set Identifier
        002f Advertising Interval - long
        0030 Broadcast_Name
        0031 Encrypted Advertising Data
        0032 Periodic Advertising Response Timing Information
        0034 Electronic Shelf Label
        003d 3D Information Data
        00ff Manufacturer Specific Data

        """#)
    }
}
