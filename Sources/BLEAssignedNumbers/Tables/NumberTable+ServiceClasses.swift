// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// Service classes and profiles of BR/EDR: 76.
    static var serviceClasses: NumberTable {
        NumberTable(#"""
        1000 ServiceDiscoveryServerServiceClassID
        1001 BrowseGroupDescriptorServiceClassID
        1101 SerialPort
        1102 LANAccessUsingPPP
        1103 Dial-Up Networking
        1104 IrMCSync
        1105 OBEXObjectPush
        1106 OBEX File Transfer
        1107 IrMCSyncCommand
        1108 Headset
        1109 CordlessTelephony
        110a Audio Source
        110b Audio Sink
        110c A/V Remote Control Target
        110d Advanced Audio Distribution
        110e A/V Remote Control
        110f A/V Remote Control Controller
        1110 Intercom
        1111 Fax
        1112 Headset Audio Gateway
        1113 WAP
        1114 WAP_CLIENT
        1115 PANU
        1116 NAP
        1117 GN
        1118 DirectPrinting
        1119 ReferencePrinting
        111a Imaging
        111b Imaging Responder
        111c Imaging Automatic Archive
        111d Imaging Referenced Objects
        111e Hands-Free
        111f AG Hands-Free
        1120 DirectPrintingReferencedObjectsService
        1121 ReflectedUI
        1122 BasicPrinting
        1123 PrintingStatus
        1124 HID
        1125 HardcopyCableReplacement
        1126 HCR_Print
        1127 HCR_Scan
        1128 Common_ISDN_Access
        112d SIM Access
        112e Phonebook Access Client
        112f Phonebook Access Server
        1130 Phonebook Access Profile
        1131 Headset - HS
        1132 Message Access Server
        1133 Message Notification Server
        1134 Message Access Profile
        1135 GNSS
        1136 GNSS_Server
        1137 3D Display
        1138 3D Glasses
        1139 3D Synch Profile
        113a Multi Profile Specification
        113b MPS
        113c CTN Access Service
        113d CTN Notification Service
        113e Calendar Tasks and Notes Profile
        1200 PnPInformation
        1201 Generic Networking
        1202 GenericFileTransfer
        1203 Generic Audio
        1204 GenericTelephony
        1205 UPNP_Service
        1206 UPNP_IP_Service
        1300 ESDP_UPNP_IP_PAN
        1301 ESDP_UPNP_IP_LAP
        1302 ESDP_UPNP_L2CAP
        1303 Video Source
        1304 Video Sink
        1305 Video Distribution
        1400 HDP
        1401 HDP Source
        1402 HDP Sink

        """#)
    }
}
