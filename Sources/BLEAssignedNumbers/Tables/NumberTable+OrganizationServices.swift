// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// UUIDs that other standards organizations have for their services: 17.
    static var organizationServices: NumberTable {
        NumberTable(#"""
        fccc Wi-Fi Easy Connect Specification
        ffef Wi-Fi Direct Specification
        fff0 Public Key Open Credential (PKOC)
        fff1 ICCE Digital Key
        fff2 Aliro
        fff3 FiRa Consortium
        fff4 FiRa Consortium
        fff5 Car Connectivity Consortium, LLC
        fff6 Matter Profile ID
        fff7 Zigbee Direct
        fff8 Mopria Alliance BLE
        fff9 FIDO2 secure client-to-authenticator transport
        fffa ASTM Remote ID
        fffb Direct Thread Commissioning
        fffc Wireless Power Transfer (WPT)
        fffd Universal Second Factor Authenticator
        fffe Wireless Power Transfer

        """#)
    }
}
