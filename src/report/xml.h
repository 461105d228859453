/**
 * @file xml.h
 * @brief Text within XML.
 */
#ifndef RP_REPORT_XML_H
#define RP_REPORT_XML_H

struct rp_buf;

/** Appends text for an element or an attribute in double quotes: valid UTF-8 on one line; what XML
 *  cannot hold, and what would turn the writing direction, becomes '?'. */
void rp_xml_text(struct rp_buf *buf, const char *text, unsigned most_cells);
/** Appends ' name="text"', all of it: what XML cannot hold as rp_escape; "(no name)" for "".
 */
void rp_xml_attribute(struct rp_buf *buf, const char *name, const char *text);

#endif
